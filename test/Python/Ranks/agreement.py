"""Ranks in processes of their own that do different things, as scripts under torchrun may.

    agreement.py FOLDER                   FOLDER has train.tp, other.tp, cache.tp and partial.tp, for 3 ranks
    agreement.py FOLDER rank PIPE         as one of the processes: READ,WRITE descriptors

Rank 1 is the one that differs. Each rank prints what it hears, the first process what all ranks
hear: one line if it is the same for all.
"""
from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import tp
from tp.ranks.connections import Connections
from tp.ranks.launcher import find_launcher

FOLDER = sys.argv[1]
RANKS = 3
X = np.arange(24, dtype=np.float32).reshape(4, 6) / 24
WEIGHTS = {"up.weight": np.ones((6, 10), np.float32), "opt_step:step": np.array(7),
           "cache": np.zeros((4, 10), np.float32)}
rank = int(os.environ.get("RANK", "-1"))
differs = rank == 1


def load(name: str, **changed: np.ndarray) -> tp.Program:
    return tp.load(os.path.join(FOLDER, name + ".tp"),
                   {**WEIGHTS, **changed} if name not in ("cache", "partial") else None)


def say(what: str, call: Callable[[], Any]) -> None:
    """Prints what goes wrong in a call."""
    try:
        call()
        text = "no error"
    except tp.RunError as error:
        text = str(error)
    print(f"{what}: {text}", flush=True)


def check_calls() -> None:
    """What is found out before a step leaves the ranks as they were."""
    cache = 2 * X
    with load("cache") as program:
        say("other inputs", lambda: program(cache, -X if differs else X))
        say("an input that no rank has got", lambda: program(x=X))
        say("a wrong call", lambda: program(cache, X[:2] if differs else X))
        np.testing.assert_array_equal(program(cache, X), 2 * (X + cache))
        say("an input that one rank gives", lambda: program(**{"x": X, "cache": X} if differs
                                                            else {"x": X}))
        np.testing.assert_array_equal(program(x=X), 2 * (2 * X + cache))


def check_partial() -> None:
    """Arrays are whole where ranks have addends."""
    with load("partial") as program:
        assert program.layouts["x"] == "tp: partial<sum>", program.layouts
        np.testing.assert_array_equal(program(2 * X, X), 2 * (X + 2 * X))
    say("addends", lambda: None)


def check_state() -> None:
    with load("train") as program:
        program(X)
        if differs:
            program.state["step"] = 3
        say("state that one rank sets", lambda: program(X))
    with load("train") as program:
        say("a step and state", lambda: program.state["step"] if differs else program(X))
        assert not program.alive
        say("the next call", lambda: program(X))
    with load("train", **{"up.weight": WEIGHTS["up.weight"] * (2 if differs else 1)}) as program:
        say("other weights", lambda: program(X))
        # The program has not started, and starts with the same weights now.
        program._shared.sources = tp.weights.open_sources(WEIGHTS)
        np.testing.assert_allclose(program(X), X @ WEIGHTS["up.weight"], rtol=1e-5)


def check_start() -> None:
    """Each rank joins once, with one artifact."""
    with load("other" if differs else "train") as program:
        say("another artifact", lambda: program(X))
    with load("train") as program:
        program(X)
        launched = find_launcher()
        assert launched is not None
        again = Connections(launched, tp.ranks.torchrun._started, 0)
        say(f"rank {rank} again", lambda: again.join(60) if rank else again.serve([], 60))
        program(X)


def check_load() -> None:
    """One rank cannot load its weights: the others hear it when they start, wherever it is."""
    for failing in (1, 0):
        what = f"weights that rank {failing} cannot load"
        if rank == failing:
            say(what, lambda: load("train", **{"up.weight": X}))
        else:
            with load("train") as program:
                say(what, lambda: program(X))


def check_files() -> None:
    """One rank writes the state of all. It is there when the call ends, on every rank."""
    path = os.path.join(FOLDER, "state.safetensors")
    with load("train") as program:
        program(X)
        program.save_state(path)
        say("a file of all ranks", lambda: tp.safetensors.SafeTensors(path)["up.weight"].bits)
        expected = program(X)
        say("a file that cannot be written", lambda: program.save_state(FOLDER))
        program(X)
    with load("train") as program:
        program.load_state(path)
        np.testing.assert_array_equal(program(X), expected)
        program.state["cache"] = WEIGHTS["cache"]
        say("state after a file", lambda: program(X))


def check_slow_file(read_end: int, write_end: int) -> None:
    """Rank 0 writes a file for twice as long as the others wait for a rank that does nothing."""
    with load("train") as program:
        program(X)
        path, seconds, slices = os.path.join(FOLDER, "slow.safetensors"), 3.0, 0
        group: Any = program._shared.group
        fsync, others_left = os.fsync, group._others_left

        def fsync_late(descriptor: int) -> None:
            for _ in range(RANKS - 1):
                os.read(read_end, 1)
            os.fsync = fsync
            fsync(descriptor)

        def count_slices(gone: int = 0) -> None:
            nonlocal slices
            slices += 1
            if slices == 20 * seconds:
                os.write(write_end, b".")
            others_left(gone)
        if rank == 0:
            os.fsync = fsync_late
        else:
            group._timeout, group._others_left = seconds, count_slices
        say("a file that takes long", lambda: program.save_state(path))
        os.fsync = fsync
        if rank and slices < 20 * seconds:
            os.write(write_end, b".")


def check_late(read_end: int, write_end: int) -> None:
    """Rank 1 does not come to step 2 before the others have given up."""
    with load("train") as program:
        program(X)
        if differs:
            for _ in range(RANKS - 1):
                os.read(read_end, 1)
        else:
            program._shared.group._timeout = 0.1  # type: ignore[union-attr]
            say("a rank that is late", lambda: program(X))
            os.write(write_end, b".")


def check_end() -> None:
    """Rank 1 leaves: it closes its program, then its script ends by an exception."""
    with load("train") as program:
        program(X)
        if not differs:
            say("a rank that closes its program", lambda: program.state["cache"])
    program = load("train")
    program(X)
    program(X)
    if differs:
        raise SystemExit("the script of rank 1 fails")
    say("a script that ends", lambda: program(X))
    assert not program.alive


def run_ranks() -> None:
    pipe = os.pipe()
    ranks = [subprocess.Popen([sys.executable, "-B", *sys.argv, "rank", ",".join(map(str, pipe))],
                              stdout=subprocess.PIPE, text=True, pass_fds=pipe,
                              env=dict(os.environ, RANK=str(number), WORLD_SIZE=str(RANKS),
                                       TORCHELASTIC_RUN_ID=f"agreement-{os.getpid()}"))
             for number in range(RANKS)]
    said: dict[str, dict[int, str]] = {}
    for number, process in enumerate(ranks):
        for line in process.communicate()[0].splitlines():
            what, _, text = line.partition(": ")
            said.setdefault(what, {})[number] = text
    for what, texts in said.items():
        if len(set(texts.values())) == 1:
            numbers = ", ".join(map(str, texts))
            print(f"{what}, on {numbers}: {texts.popitem()[1]}")
        for number, text in texts.items() if len(set(texts.values())) > 1 else ():
            print(f"{what}, on {number}: {text}")
    print("status:", *(process.returncode for process in ranks))


if rank < 0:
    run_ranks()
else:
    check_load()
    check_calls()
    check_partial()
    check_state()
    check_start()
    check_files()
    check_slow_file(*map(int, sys.argv[3].split(",")))
    check_late(*map(int, sys.argv[3].split(",")))
    check_end()
