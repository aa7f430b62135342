"""Runs artifacts of the small Llama from Python, on all kinds of ranks.

    run_llama.py EXAMPLE FOLDER          FOLDER has 1.tp, 3.tp and 4.tp
    run_llama.py EXAMPLE FOLDER --rank   as one of the processes of 3.tp; --dying-rank too
"""
from __future__ import annotations

import os
import subprocess
import sys
from unittest import mock

import numpy as np
import tp
from tp.safetensors import SafeTensors

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


def check_lookups() -> None:
    """Near names are looked for where a name is missing, not where a caller asks whether it is: a
    model has thousands of names, and asks for several of each weight."""
    file = SafeTensors(WEIGHTS)
    assert "output.weight" in file
    with mock.patch("tp.safetensors.near", side_effect=AssertionError("looked for near names")):
        assert "parameter:output.weight" not in file


def check_ranks(size: int, launch: str) -> None:
    path = os.path.join(FOLDER, f"{size}.tp")
    with tp.load(path, WEIGHTS, launch=launch) as program:
        assert program.size == size
        check(program)
    noun = "rank" if size == 1 else "ranks"
    print(f"{size} {noun}, {launch}: equal")


def run_processes(what: str) -> tuple[list[str], list[int]]:
    """What torchrun does: every process has its number in the environment."""
    run = f"{what}-{os.getpid()}"
    ranks = [subprocess.Popen([sys.executable, "-B", *sys.argv, what], stdout=subprocess.PIPE,
                              text=True, env=dict(os.environ, RANK=str(rank), WORLD_SIZE="3",
                                                  TORCHELASTIC_RUN_ID=run))
             for rank in range(3)]
    return ([rank.communicate()[0].strip() for rank in ranks], [rank.returncode for rank in ranks])


def check_processes() -> None:
    said, status = run_processes("--rank")
    print("3 ranks, one per process:", *said)
    assert status == [0, 0, 0], status
    said, status = run_processes("--dying-rank")
    print("one of them ends:", *sorted(set(said) - {""}))
    assert status == [0, 5, 0], status


def die_or_wait() -> None:
    """Rank 1 ends between two steps; the others get an error, and do not wait for it."""
    program = tp.load(os.path.join(FOLDER, "3.tp"), WEIGHTS)
    program(array("tokens.npy"))
    if os.environ["RANK"] == "1":
        os._exit(5)
    try:
        program(array("tokens.npy"))
    except tp.RunError as error:
        print(error)


if "--rank" in sys.argv:
    with tp.load(os.path.join(FOLDER, "3.tp"), WEIGHTS) as own:
        check(own)
    print("equal")
elif "--dying-rank" in sys.argv:
    die_or_wait()
else:
    check_lookups()
    for count in (1, 3, 4):
        for how in ("thread", "process"):
            check_ranks(count, how)
    check_processes()
