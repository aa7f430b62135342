"""Models of nine layers, of which tp decides about four: on a mesh and under each of
its plans, every result is that of one rank on which all layers were decided about.

    repeated_layers.py FOLDER MODEL --mesh=tp=3 [--program=training] [--fakes=FOLDER]

With --fakes they run on devices that are the host, with the libraries in that folder.
"""

import argparse
import glob
import os
import subprocess
import sys

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)
import artifact  # noqa: E402
sys.path.insert(0, os.path.join(BENCH, "..", "test"))
import fake_devices  # noqa: E402

SIZES = ["--layers=9", "--dim=32", "--heads=4", "--ff=48", "--vocab=40", "--batch=4",
         "--seq=6", "--positions=8", "--experts=3", "--element=f64"]


def execute(command, environment=None):
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, env=environment)
    if done.returncode:
        sys.exit(f"{' '.join(command)[:2000]}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return done.stdout + done.stderr


def results_of(path):
    """Names of its results; `kind:name` where several of a kind share one."""
    rows = artifact.entry(path)["results"]
    names = [row["name"] for row in rows]
    return [row["name"] if names.count(row["name"]) == 1
            else f"{row.get('kind', 'user_output')}:{row['name']}" for row in rows]


def most_reasons(path):
    """For how many reasons a collective is there, at most."""
    return max(row.get("reason", "").count("; ") + 1
               for row in artifact.entry(path)["collectives"])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("model")
    parser.add_argument("--mesh", required=True)
    parser.add_argument("--program", default="forward")
    parser.add_argument("--fakes")
    options = parser.parse_args()
    folder = options.folder
    device, environment = [], None
    if options.fakes:
        device, environment = fake_devices.OPTIONS, fake_devices.environment(options.fakes, folder)
    kv_heads = ["--kv-heads=2"] if options.model in ("llama", "moe") else []
    execute([sys.executable, os.path.join(BENCH, "generate"), options.model,
             f"--program={options.program}", f"--mesh={options.mesh}", "--weights",
             "-o", folder] + SIZES + kv_heads)
    stem = os.path.join(folder, "model")
    # All stages are checked on all layers, so none is left out.
    execute(["tp-compile", stem + ".mlir", "--verify", "-o", stem + ".tp"])
    names = results_of(stem + ".tp")
    files = {name: os.path.join(folder, f"expected.{i}.npy")
             for i, name in enumerate(names)}
    run = ["tp-run", f"--weights={folder}/weights.safetensors"] + [
        f"--input={os.path.basename(path)[:-4]}=@{path}"
        for path in sorted(glob.glob(folder + "/*.npy"))
        if not os.path.basename(path).startswith("expected.")]
    execute(run + [stem + ".tp", "--ranks=1"] + [
        f"--output={name}=@{path}" for name, path in files.items()])
    ranks = 1
    for axis in options.mesh.split(","):
        ranks *= int(axis.partition("=")[2])
    plans = sorted(glob.glob(folder + "/*.plan.mlir"))
    for plan in plans:
        said = execute(["tp-opt", stem + ".mlir", "--tp-legalize",
                        f"--tp-apply-plan=plan={plan}", "--tp-repeat-layers=report",
                        "-o", os.devnull])
        if "of 9 layers were left out" not in said:
            sys.exit(f"{plan}: expected that layers are left out")
        execute(["tp-compile", stem + ".mlir", f"--plan={plan}", "-o", stem + ".split.tp", *device])
        # The gradients of norms, which ranks have parts of, are sent together.
        members = most_reasons(stem + ".split.tp")
        if "sequence-parallel" in plan and options.program == "training" and members < 9:
            sys.exit(f"{plan}: expected a collective for 9 layers, got one for {members}")
        said = execute(run + [stem + ".split.tp", f"--ranks={ranks}", "--poison",
                              "--rtol=1e-9", "--atol=1e-10"] + [
            f"--expected-output={name}=@{path}" for name, path in files.items()], environment)
        equal = said.count("equal")
        if equal != len(names):
            sys.exit(f"{plan}: expected {len(names)} equal results, got {equal}:\n{said}")
    print(f"{options.model} {options.program} on {options.mesh}: {len(names)} results "
          f"equal under {len(plans)} plans")


main()
