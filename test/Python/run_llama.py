"""Runs artifacts of the small Llama from Python, on all kinds of ranks.

    run_llama.py EXAMPLE FOLDER          FOLDER has 1.tp, 3.tp and 4.tp
    run_llama.py EXAMPLE FOLDER --rank   as one of the processes of 3.tp
"""
from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import tp

EXAMPLE, FOLDER = sys.argv[1:3]
WEIGHTS = os.path.join(EXAMPLE, "weights.safetensors")


def array(name: str) -> np.ndarray:
    return np.load(os.path.join(EXAMPLE, name))


def check(program: tp.Program) -> None:
    """The same logits in every step, also after a weight was read, changed and put back."""
    tokens, logits = array("tokens.npy"), array("logits.npy")
    for _ in range(3):
        np.testing.assert_allclose(program(tokens), logits, rtol=1e-4, atol=1e-5)
    np.testing.assert_array_equal(program(tokens=tokens), program(tokens))
    output = program.state["output.weight"]
    program.state["output.weight"] = 2 * output
    np.testing.assert_allclose(program(tokens), 2 * logits, rtol=1e-4, atol=2e-5)
    np.testing.assert_array_equal(program.state["output.weight"], 2 * output)
    program.state["output.weight"] = output
    np.testing.assert_allclose(program(tokens), logits, rtol=1e-4, atol=1e-5)


def check_ranks(size: int, launch: str) -> None:
    path = os.path.join(FOLDER, f"{size}.tp")
    with tp.load(path, WEIGHTS, launch=launch) as program:
        assert program.size == size
        check(program)
    noun = "rank" if size == 1 else "ranks"
    print(f"{size} {noun}, {launch}: equal")


def check_processes() -> None:
    """What torchrun does: every process has its number in the environment."""
    ranks = [subprocess.Popen([sys.executable, "-B", *sys.argv, "--rank"], stdout=subprocess.PIPE,
                              text=True, env=dict(os.environ, RANK=str(rank), WORLD_SIZE="3",
                                                  TORCHELASTIC_RUN_ID=f"test-{os.getpid()}"))
             for rank in range(3)]
    print("3 ranks, one per process:", *[rank.communicate()[0].strip() for rank in ranks])
    assert all(rank.returncode == 0 for rank in ranks)


if "--rank" in sys.argv:
    with tp.load(os.path.join(FOLDER, "3.tp"), WEIGHTS) as own:
        check(own)
    print("equal")
else:
    for count in (1, 3, 4):
        for how in ("thread", "process"):
            check_ranks(count, how)
    check_processes()
