"""Checkpoints that a program writes, on other meshes, and while processes that write them are killed.

    checkpoints.py FOLDER MODEL [--kills=N]

MODEL is Inputs/train.mlir; FOLDER gets m.tp, the artifact for two ranks, and the checkpoints 1 and 2,
after one step and two.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import re
import signal
import subprocess
import sys

import numpy as np
import tp
from tp.ranks import checkpoint_folder

INDEX = checkpoint_folder.INDEX
X = np.full((4, 6), 0.25, np.float32)
WRITER = """
import sys, numpy as np, tp
program = tp.load("m.tp", launch=sys.argv[2])
program.load_checkpoint("k")
print("ready", flush=True)
while True:
    program(np.full((4, 6), 0.25, np.float32))
    program.save_checkpoint("k", max_shard_size=int(sys.argv[1]))
    print("saved", flush=True)
"""

COUNTING = """
func.func @main(%t: tensor<4xf32> {tp.name = "t", tp.kind = "buffer"},
                %i: tensor<i64> {tp.name = "i", tp.kind = "user_input"})
    -> (tensor<4xf32> {tp.name = "t", tp.kind = "new_buffer", tp.updates = "t"}) {
  %at = tensor.extract %i[] : tensor<i64>
  %four = arith.constant 4 : i64
  %isInside = arith.cmpi ult, %at, %four : i64
  cf.assert %isInside, "no such place"
  %next = arith.addf %t, %t : tensor<4xf32>
  %zero = arith.constant 0 : index
  %first = tensor.extract %next[%zero] : tensor<4xf32>
  %nine = arith.constant 9.0 : f32
  %isSmall = arith.cmpf olt, %first, %nine : f32
  cf.assert %isSmall, "too large"
  return %next : tensor<4xf32>
}
"""


def weights() -> dict[str, np.ndarray]:
    """The first values."""
    rng = np.random.default_rng(0)
    return {"up.weight": rng.standard_normal((6, 10), np.float32), "opt_step:step": np.array(7),
            "cache": rng.standard_normal((4, 10), np.float32)}


def state_of(program: tp.Program) -> dict[str, np.ndarray]:
    """All states."""
    return {name: np.array(program.state[name]) for name in program.state}


def check_meshes(model: str) -> None:
    """A checkpoint of two ranks goes on on other ranks, and files are as large as they may be."""
    with tp.compile(model, plan="auto", mesh={"tp": 2}, weights=weights()) as first:
        first.save("m.tp")
        first(X)
        first.save_checkpoint("1")
        expected, result = state_of(first), first(X)
        first.save_checkpoint("2", max_shard_size="100")
        with open(os.path.join("2", "config.json"), "w", encoding="utf-8") as file:
            file.write("{}")
        first.save_checkpoint("2", max_shard_size=250)
        after = state_of(first)
    names = sorted(re.sub("-[0-9a-f]{8}-", "-", name) for name in os.listdir("2"))
    assert names == ["config.json", "model-00001-of-00003.safetensors",
                     "model-00002-of-00003.safetensors", "model-00003-of-00003.safetensors",
                     INDEX, "state-00001-of-00001.safetensors"], names
    with open(os.path.join("2", INDEX), encoding="utf-8") as file:
        index = json.load(file)
    assert sorted(index["weight_map"]) == ["cache", "head.weight", "up.weight"]
    assert index["metadata"]["total_size"] == 2 * 240 + 160
    for mesh, launch in ((None, "thread"), ({"tp": 3}, "process"), ({"tp": 4}, "thread")):
        plan = None if mesh is None else {"argument up.weight": tp.Shard(1)}
        with tp.compile(model, plan=plan, mesh=mesh, launch=launch) as program:
            program.load_checkpoint("1")
            np.testing.assert_equal(state_of(program), expected)
            np.testing.assert_allclose(program(X), result, rtol=1e-5, atol=1e-6)
            program.load_checkpoint("2")
            np.testing.assert_equal(state_of(program), after)
    # The parameters alone are weights of another program.
    stored = tp.weights.open_sources("2")[0]
    np.testing.assert_array_equal(np.asarray(stored["head.weight"]), after["up.weight"])


def check_lost() -> None:
    """What a failed step has lost, a checkpoint brings back; the message says so."""
    with open("counting.mlir", "w", encoding="utf-8") as file:
        file.write(COUNTING)
    with tp.compile("counting.mlir", weights={"t": np.ones(4, np.float32)}) as program:
        program(np.int64(0))
        program.save_checkpoint("l")
        for place, words in ((9, "no such place"), (0, "write program.load_checkpoint(folder)")):
            try:
                program(np.int64(place))
                raise AssertionError("the step did not fail")
            except tp.RunError as error:
                assert words in str(error), error
        program.load_checkpoint("l")
        program(np.int64(0))
        np.testing.assert_array_equal(program.state["t"], np.full(4, 4, np.float32))


def check_kills(count: int) -> None:
    """After every kill the folder is a checkpoint of one step, and the next run goes on from it."""
    order = random.Random(0)
    with tp.load("m.tp") as program:
        program.load_checkpoint("1")
        program.save_checkpoint("k")
        steps, seen = 8, 0
        for _ in range(count):
            launch = order.choice(["thread", "process"])
            with subprocess.Popen([sys.executable, "-c", WRITER, str(order.choice([100, 10 ** 6])),
                                   launch], stdout=subprocess.PIPE, text=True) as writer:
                assert writer.stdout is not None
                # It is killed at some moment behind a line of its own.
                for _ in range(order.randrange(1, 4)):
                    writer.stdout.readline()
                for _ in range(order.randrange(2000)):
                    os.listdir("k")
                writer.send_signal(signal.SIGKILL)
            program.load_checkpoint("k")
            found = state_of(program)
            assert found["opt_step:step"] >= steps
            seen += found["opt_step:step"] > steps
            steps = int(found["opt_step:step"])
            # What such a step has: all tensors of one checkpoint.
            program.load_checkpoint("1")
            for _ in range(steps - 8):
                program(X)
            np.testing.assert_equal(found, state_of(program))
        program.load_checkpoint("k")
        program.save_checkpoint("k")
    assert len(os.listdir("k")) == 3, os.listdir("k")
    print(f"{count} kills, {seen} behind a new checkpoint, {steps} steps")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder")
    parser.add_argument("model")
    parser.add_argument("--kills", type=int, default=3)
    options = parser.parse_args()
    os.chdir(options.folder)
    check_meshes(options.model)
    check_lost()
    check_kills(options.kills)


if __name__ == "__main__":
    main()
