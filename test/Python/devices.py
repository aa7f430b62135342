"""Programs for devices, called from Python: PyTorch's logits, and state that is fed back.

    devices.py EXAMPLE PLAN MODEL-THAT-TRAINS
"""
from __future__ import annotations

import os
import sys

import numpy as np
import tp
from Inputs.train import check_steps

EXAMPLE, PLAN, TRAINING = sys.argv[1:]
TOKENS = np.load(os.path.join(EXAMPLE, "tokens.npy"))
LOGITS = np.load(os.path.join(EXAMPLE, "logits.npy"))
# Code of the fakes, which are the host.
CUDA = {"target": "cuda", "chips": ["host"]}


def check_llama(ranks: int) -> None:
    with tp.compile(EXAMPLE, plan=PLAN, mesh=ranks, **CUDA) as program:
        assert program.target == "cuda"
        for _ in range(2):
            np.testing.assert_allclose(program(TOKENS), LOGITS, rtol=1e-4, atol=1e-5)
        output = program.state["output.weight"]
        program.state["output.weight"] = 2 * output
        np.testing.assert_allclose(program(TOKENS), 2 * LOGITS, rtol=1e-4, atol=2e-5)
        np.testing.assert_array_equal(program.state["output.weight"], 2 * output)
    print(f"llama, {ranks} ranks: equal")


def check_state() -> None:
    """Three steps, each of which updates a weight and a cache; the cache's chunks are uneven."""
    rng = np.random.default_rng(0)
    weight, cache = rng.standard_normal((6, 10), np.float32), np.zeros((4, 10), np.float32)
    weights = {"up.weight": weight, "opt_step:step": np.array(7), "cache": cache}
    plan = {"argument up.weight": tp.Shard(1), "argument cache": tp.Shard(1)}
    with tp.compile(TRAINING, plan=plan, mesh=3, weights=weights, **CUDA) as step:
        check_steps(step, weight, cache,
                    [rng.standard_normal((4, 6), np.float32) / 4 for _ in range(3)])
    print("state, 3 ranks: equal")


check_llama(1)
check_llama(2)
check_state()
