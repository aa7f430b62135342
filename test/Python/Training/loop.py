"""Trains examples/train for a few steps: its losses are PyTorch's; a run that is killed, and goes on
on another mesh, has the losses of one that was not; transformers loads the checkpoint.

    loop.py EXAMPLE FOLDER [--steps=N] [--kills=N]
"""
from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import time

import numpy as np

parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
parser.add_argument("example")
parser.add_argument("folder")
parser.add_argument("--steps", type=int, default=6)
parser.add_argument("--kills", type=int, default=1)
options = parser.parse_args()
sys.path.insert(0, options.example)
import run  # pylint: disable=wrong-import-position
from plot import read  # pylint: disable=wrong-import-position

SAVE = f"--save-every={max(options.steps // 8, 2)}"
MESHES = ["dp=2,tp=2", "tp=4", "dp=3", "tp=2"]


def folder(name: str) -> str:
    """A folder of this test."""
    return os.path.join(options.folder, name)


def close(got: list[float], right: list[float], what: str) -> None:
    """Fails unless all losses are equal within rounding, which grows from step to step."""
    assert len(got) == len(right) == options.steps, (what, len(got))
    far = np.abs(np.array(got) - right) / (1e-5 + 1e-5 * np.arange(1, len(right) + 1))
    print(f"{what}: {'equal' if far.max() <= 1 else f'DIFFER, {far.max():.3g} times too far'}",
          flush=True)


def count(path: str) -> int:
    """How many losses a run has written."""
    return len(read(path)) if os.path.exists(path) else 0


def killed(order: random.Random) -> list[float]:
    """The losses of runs that are killed at some step, each on another mesh than the one before."""
    shutil.copytree(folder(f"whole/model-{options.steps}"),
                    folder(f"killed/model-{options.steps}"))
    path = folder("killed/losses.csv")
    for number in range(options.kills + 1):
        command = [sys.executable, os.path.join(options.example, "run.py"),
                   f"--mesh={MESHES[number % len(MESHES)]}", f"--steps={options.steps}", SAVE,
                   f"--folder={folder('killed')}"]
        if number == options.kills:
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            break
        # At least one checkpoint more, or none.
        until = count(path) + order.randrange(1, max(options.steps // options.kills, 3))
        with subprocess.Popen(command, stdout=subprocess.DEVNULL) as process:
            while process.poll() is None and count(path) < min(until, options.steps):
                time.sleep(0.01)
            process.kill()
    return read(path)


def main() -> None:
    import torch
    import transformers
    arguments = [f"--steps={options.steps}", SAVE, f"--folder={folder('whole')}"]
    run.main(["--mesh=tp=2", *arguments])
    whole = read(folder("whole/losses.csv"))
    text = run.text_of(os.path.join(options.example, "alice.txt"))
    close(whole, list(run.torch_losses(text, options.steps)), "as PyTorch")
    close(killed(random.Random(0)), whole, "killed and resumed")
    with open(folder("whole/loss.svg"), encoding="utf-8") as file:
        assert file.read().count("<polyline") == 1
    checkpoint = folder("killed/checkpoint")
    shutil.copy(folder(f"whole/model-{options.steps}/config.json"), checkpoint)
    module, found = transformers.AutoModelForCausalLM.from_pretrained(
        checkpoint, output_loading_info=True, dtype=torch.float32)
    assert not found["missing_keys"] and not found["unexpected_keys"], found
    tokens, target = (torch.from_numpy(array) for array in run.batch(text, 0))
    value = run.loss(module.eval()(tokens), target).item()
    print(f"transformers: {'trained' if value < whole[0] else f'loss {value}'}")


if __name__ == "__main__":
    main()
