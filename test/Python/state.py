"""Steps of Inputs/train.mlir against numpy: what one step returns for the next stays on the ranks.

    state.py MODEL MODEL-WITH-A-CACHE...
"""
from __future__ import annotations

import itertools
import sys
import warnings

import numpy as np
import tp
from Inputs.train import check_steps

MODEL, *CACHED = sys.argv[1:]
rng = np.random.default_rng(0)
STEPS = [rng.standard_normal((4, 6), np.float32) / 4 for _ in range(5)]
WEIGHT = rng.standard_normal((6, 10), np.float32)
CACHE = rng.standard_normal((4, 10), np.float32)
WEIGHTS = {"up.weight": WEIGHT, "opt_step:step": np.array(7), "cache": CACHE}
SHARDED = {"argument up.weight": tp.Shard(1), "argument cache": tp.Shard(1)}


def check(program: tp.Program) -> None:
    assert program.input_names == ["x"] and program.result_names == ["y"], program
    cache = check_steps(program, WEIGHT, CACHE, STEPS)
    np.testing.assert_allclose(program.state["cache"], cache, rtol=1e-5, atol=1e-5)
    program.state["step"] = 100
    program(STEPS[0])
    assert program.state["step"] == 101
    assert sorted(program.state) == ["cache", "opt_step:step", "up.weight"], list(program.state)


for plan, mesh in ((None, None), (SHARDED, {"tp": 4}), ({"argument x": tp.Shard(0)}, {"tp": 3}),
                   ("auto", {"tp": 2})):
    for launch in ("thread", "process"):
        with tp.compile(MODEL, plan=plan, mesh=mesh, weights=WEIGHTS, launch=launch) as step:
            check(step)
# The weights may come from several sources, and may be set one by one.
program = tp.compile(MODEL, weights=[{"up.weight": WEIGHT}, {"cache": CACHE}])
program.state["step"] = 7
check(program)
assert list(program.entries) == ["main"]
# A tied weight has all its names; two of them may differ in no byte.
np.testing.assert_array_equal(program.state["head.weight"], program.state["up.weight"])
assert "head.weight" in program.state and "tail.weight" not in program.state
REST = {"opt_step:step": np.array(7), "cache": CACHE}
check(tp.compile(MODEL, weights={"head.weight": WEIGHT, **REST}))
check(tp.compile(MODEL, weights={"head.weight": WEIGHT, "up.weight": WEIGHT.copy(), **REST}))
for other in (-WEIGHT, np.where(WEIGHT == WEIGHT.max(), np.nextafter(WEIGHT, 0), WEIGHT)):
    try:
        tp.compile(MODEL, weights={"head.weight": other, **WEIGHTS})
        raise AssertionError("two weights for one argument")
    except tp.RunError as error:
        assert str(error) == (
            "weights: 'up.weight' and 'head.weight' stand for one argument, 'up.weight', but have "
            "different values: leave one of them out"), error
# What is no parameter comes from the model where the weights lack it.
with tp.compile(tp.Model(open(MODEL, encoding="utf-8").read(), [], [], WEIGHTS),
                weights={"head.weight": WEIGHT}) as filled:
    check(filled)
# What the state lists is what weights are called, of optimizers too: a step that is saved goes on
# where it was. What is missing is told by the name to write it to.
saved = {name: program.state[name] for name in program.state}
with tp.compile(MODEL, weights=saved) as resumed:
    np.testing.assert_array_equal(resumed(STEPS[1]), program(STEPS[1]))
    assert resumed.state["step"] == program.state["step"]
with tp.compile(MODEL, weights={"up.weight": WEIGHT, "cache": CACHE}) as started:
    try:
        started(STEPS[0])
        raise AssertionError("a step without its optimizer's state")
    except tp.RunError as error:
        assert "write program.state['opt_step:step'] = array" in str(error), error
    started.state["opt_step:step"] = 7
    check(started)
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    tp.compile(MODEL, weights={**WEIGHTS, "rope.inv_freq": CACHE})
assert [str(warning.message) for warning in told] == [
    "the weights have 1 name that the program does not use: 'rope.inv_freq'"], told
assert told[0].filename == __file__, told[0].filename

# An input that a step changes is given once, and may be given again. What updates it may have
# another name.
for model, launch in itertools.product(CACHED, ("thread", "process")):
    with tp.compile(model, plan={"argument cache": tp.Shard(0)}, mesh=2, launch=launch) as cached:
        assert cached.result_names == ["y"], cached.result_names
        x, cache = STEPS[0], STEPS[1]
        try:
            cached(x=x)
        except tp.RunError as error:
            assert "'cache: f32[4, 6]' is missing" in str(error), error
        for given in (cache, None, None, STEPS[2], None):
            old = cache if given is None else given
            np.testing.assert_allclose(cached(x=x) if given is None else cached(given, x),
                                       2 * (x + old), rtol=1e-6)
            cache = x + old
        np.testing.assert_allclose(cached.state["cache"], cache, rtol=1e-6)
