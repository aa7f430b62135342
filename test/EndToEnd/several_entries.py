"""Runs the entries of one artifact, and the same functions compiled alone, in one order, and
compares results and states to the bit. The state goes from run to run by files.

    several_entries.py FOLDER
"""

import os
import subprocess
import sys

HERE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "Inputs")
SHARD = 'tp.plan @m on <"tp" = {}>["tp"] {{\n  tp.argument "w" shard<1>\n}}\n'
ORDER = ["prompt", "step", "step", "prompt", "step"]
WEIGHT = "--input=w=8x12xf32=[{}]".format(" ".join(str((i * 37) % 19 - 9) for i in range(96)))
ROWS = {"prompt": 4, "step": 1}


def run(command, folder):
    subprocess.run(command, cwd=folder, check=True)


def sequence(folder, artifacts, flags):
    """What the runs of ORDER write: the bytes of all files."""
    files = []
    state = "--input=state=12xf32=0"
    for number, name in enumerate(ORDER):
        x = " ".join(str((i * 7 + number) % 11 - 5) for i in range(8 * ROWS[name]))
        written = f"{number}.safetensors"
        run(["tp-run", artifacts[name], "--quiet", *flags(name), WEIGHT, state,
             f"--input=x={ROWS[name]}x8xf32=[{x}]", f"--output=y=@{written}",
             f"--output=next=@{written}"], folder)
        # A result that updates an argument has that one's name in the file.
        state = f"--input=state=@{written}"
        with open(os.path.join(folder, written), "rb") as file:
            files.append(file.read())
    return files


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, "both.mlir"), "w") as both:
        for name in ROWS:
            with open(os.path.join(HERE, f"{name}.mlir")) as file:
                both.write(file.read())
    for ranks in (1, 2, 3):
        with open(os.path.join(folder, "plan.mlir"), "w") as file:
            file.write(SHARD.format(ranks))
        for name, path in [("both", "both.mlir")] + [
                (name, os.path.join(HERE, f"{name}.mlir")) for name in ROWS]:
            run(["tp-compile", path, "--plan=plan.mlir", "-o", f"{name}.tp"], folder)
        alone = sequence(folder, {name: f"{name}.tp" for name in ROWS}, lambda name: [])
        for more in ("--transport=threads", "--transport=processes", "--poison"):
            one = sequence(folder, dict.fromkeys(ROWS, "both.tp"),
                           lambda name, more=more: [f"--entry={name}", more])
            print(ranks, more, "equal" if one == alone else f"DIFFERS: {one} is not {alone}")


if __name__ == "__main__":
    main()
