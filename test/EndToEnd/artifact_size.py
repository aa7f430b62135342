"""What differs between ranks is a function of mesh coordinates: an artifact for 512 ranks
is hardly larger than one for 8, its code left out, and takes hardly more memory to make.

    artifact_size.py FOLDER
"""

import os
import subprocess
import sys

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)
import artifact  # noqa: E402

SIZES = ["--layers=4", "--dim=256", "--ff=512", "--heads=8", "--kv-heads=8",
         "--vocab=512", "--seq=16", "--batch=64"]
CODE = ("code", "ptx", "cubin")
MOST_BYTES, MOST_MEMORY = 1.1, 1.2


def compiled(folder, mesh):
    """The bytes of an artifact without its code, and the memory that making it took."""
    path = os.path.join(folder, f"{mesh}.tp")
    stem = os.path.join(folder, "model.mlir")
    plan = os.path.join(folder, "tensor-parallel.plan.mlir")
    child = subprocess.Popen(
        ["tp-compile", stem, f"--plan={plan}", f"--mesh={mesh}", "-o", path])
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"tp-compile for {mesh} failed")
    sections = artifact.read(path)
    return sum(len(data) for name, data in sections.items()
               if not name.startswith(CODE)), used.ru_maxrss


def main():
    folder, = sys.argv[1:]
    subprocess.run([sys.executable, os.path.join(BENCH, "generate"), "llama",
                    "--mesh=dp=64,tp=8", "-o", folder] + SIZES, check=True,
                   stdout=subprocess.DEVNULL)
    few, fewMemory = compiled(folder, "dp=1,tp=8")
    many, manyMemory = compiled(folder, "dp=64,tp=8")
    print(f"8 ranks: {few} bytes, {fewMemory} KiB; 512 ranks: {many} bytes, "
          f"{manyMemory} KiB")
    if many > MOST_BYTES * few or manyMemory > MOST_MEMORY * fewMemory:
        sys.exit(f"expected at most {MOST_BYTES} times the bytes and {MOST_MEMORY} times "
                 "the memory")


main()
