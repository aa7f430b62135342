"""Plans given in Python: their text, and what the compiler makes of them.

    plans.py EXAMPLE PLANSTYLE.CPP
"""
from __future__ import annotations

import functools
import importlib.util
import os
import re
import sys
import tempfile
import warnings
from types import SimpleNamespace

import numpy as np
import tp
from tp import styles
from tp.plans import plan_text
from tp.styles import STYLE_NAMES

EXAMPLE, STYLES = sys.argv[1:]
TOKENS = np.load(os.path.join(EXAMPLE, "tokens.npy"))
LOGITS = np.load(os.path.join(EXAMPLE, "logits.npy"))


def sequence_plan(library: object, shard: type, replicate: type) -> dict[str, object]:
    """Megatron's sequence parallelism by a library's own classes."""
    colwise, rowwise = library.ColwiseParallel, library.RowwiseParallel
    return {
        "tok_embeddings": rowwise(input_layouts=replicate(), output_layouts=shard(1)),
        "layers.*.attention_norm": library.SequenceParallel(),
        "layers.*.attention.wq": colwise(), "layers.*.attention.wk": colwise(),
        "layers.*.attention.wv": colwise(),
        "layers.*.attention.wo": rowwise(output_layouts=shard(1)),
        "layers.*.ffn_norm": library.SequenceParallel(sequence_dim=1),
        "layers.*.feed_forward": library.PrepareModuleInput(
            input_layouts=(shard(1),), desired_input_layouts=(replicate(),)),
        "layers.*.feed_forward.w1": colwise(), "layers.*.feed_forward.w3": colwise(),
        "layers.*.feed_forward.w2": rowwise(output_layouts=shard(1), use_local_output=False),
        "norm": library.SequenceParallel(),
        "output": library.PrepareModuleInputOutput(
            input_layouts=(shard(1),), desired_input_layouts=(replicate(),),
            output_layouts=(shard(-1),), desired_output_layouts=(replicate(),)),
    }


TEXT = """\
#mesh = #tp.mesh<"tp" = 2>
tp.plan @plan0 on #mesh["tp"] {
  tp.parallelize "tok_embeddings" with rowwise {input_layouts = replicate, output_layouts = shard<1>}
  tp.parallelize "layers.*.attention_norm" with sequence_parallel
  tp.parallelize "layers.*.attention.wq" with colwise
  tp.parallelize "layers.*.attention.wk" with colwise
  tp.parallelize "layers.*.attention.wv" with colwise
  tp.parallelize "layers.*.attention.wo" with rowwise {output_layouts = shard<1>}
  tp.parallelize "layers.*.ffn_norm" with sequence_parallel
  tp.parallelize "layers.*.feed_forward" with prepare_module_input {input_layouts = shard<1>, \
desired_input_layouts = replicate}
  tp.parallelize "layers.*.feed_forward.w1" with colwise
  tp.parallelize "layers.*.feed_forward.w3" with colwise
  tp.parallelize "layers.*.feed_forward.w2" with rowwise {output_layouts = shard<1>, \
use_local_output = false}
  tp.parallelize "norm" with sequence_parallel
  tp.parallelize "output" with prepare_module_input_output {input_layouts = shard<1>, \
desired_input_layouts = replicate, output_layouts = shard<-1>, desired_output_layouts = replicate}
}
"""
KEYWORDS = """\
  tp.parallelize "layers.0" with prepare_module_input {input_layouts = [shard<0>, none], \
desired_input_layouts = [replicate, none], input_kwarg_layouts = {"mask" = shard<1>}, \
desired_input_kwarg_layouts = {"mask" = replicate}}
  tp.parallelize "norm" with replicate
  tp.parallelize "a \\"b\\"" with prepare_module_output {output_layouts = partial<sum>, \
desired_output_layouts = shard<2>}
  tp.parallelize "mlp" with pairwise_sequence_parallel {output_layouts = replicate}
  tp.parallelize "w1" with colwise {_prepare_input = make_input_shard_1d<1>}
  tp.parallelize "w2" with rowwise {_prepare_output = shard<1>}
  tp.parallelize "w2" with colwise {use_local_output = false, override = true}
  tp.parallelize "w[12]" with packed_rowwise {override = true}
  tp.argument "tokens" shard<0>
  tp.argument 3 replicate
  tp.result 0 shard<2>
"""


def check_text() -> None:
    plan = sequence_plan(tp, tp.Shard, tp.Replicate)
    assert plan_text(plan, {"tp": 2}).text == TEXT, plan_text(plan, {"tp": 2}).text
    if importlib.util.find_spec("torch"):
        from torch.distributed.tensor import Partial, Replicate, Shard, parallel
        plan = sequence_plan(parallel, Shard, Replicate)
        assert plan_text(plan, {"tp": 2}).text == TEXT, plan_text(plan, {"tp": 2}).text
        plan = {"wq": tp.Override(parallel.RowwiseParallel(output_layouts=Shard(1)))}
        assert ('  tp.parallelize "wq" with rowwise {output_layouts = shard<1>, override = true}\n'
                in plan_text(plan, {"tp": 2}).text)
        output = parallel.PrepareModuleOutput(output_layouts=Partial(),
                                              desired_output_layouts=Shard(2))
    output = tp.PrepareModuleOutput(output_layouts=tp.Partial(), desired_output_layouts=tp.Shard(2))
    more = {"layers.0": tp.PrepareModuleInput(
                input_layouts=(tp.Shard(0), None), desired_input_layouts=(tp.Replicate(), None),
                input_kwarg_layouts={"mask": tp.Shard(1)},
                desired_input_kwarg_layouts={"mask": tp.Replicate()}),
            "norm": tp.ReplicateParallel(),
            'a "b"': output,
            "mlp": tp.PairwiseSequenceParallel(output_layouts=tp.Replicate(),
                                               _prepare_input=styles.make_input_reshard_replicate),
            "w1": tp.ColwiseParallel(
                _prepare_input=functools.partial(styles.make_input_shard_1d, dim=1),
                _prepare_output=styles.make_sharded_output_tensor),
            "w2": [tp.RowwiseParallel(_prepare_output=tp.Shard(1)),
                   tp.Override(tp.ColwiseParallel(use_local_output=False))],
            "w[12]": tp.Override("packed_rowwise"),
            "argument tokens": tp.Shard(0), "argument 3": tp.Replicate(),
            "result 0": tp.Shard(2)}
    lines = plan_text(more, {"tp": 2}).text.splitlines(keepends=True)
    assert "".join(lines[2:-1]) == KEYWORDS, "".join(lines)


def check_run(plan: object, mesh: object, collectives: dict[str, int]) -> None:
    with tp.compile(EXAMPLE, plan=plan, mesh=mesh) as program:
        kinds = [row.kind for row in program.collectives]
        assert {kind: kinds.count(kind) for kind in kinds} == collectives, program.collectives
        np.testing.assert_allclose(program(TOKENS), LOGITS, rtol=1e-4, atol=1e-5)


MEGATRON = {"layers.*.attention.wq": "colwise", "layers.*.attention.wk": "ColwiseParallel",
            "layers.*.attention.wv": tp.ColwiseParallel(), "layers.*.attention.wo": "rowwise",
            "layers.*.feed_forward.w1": "colwise", "layers.*.feed_forward.w3": "colwise",
            "layers.*.feed_forward.w2": "rowwise"}
with open(STYLES, encoding="utf-8") as file:
    known = re.findall(r'\{"(\w+)", StyleKind::', file.read())
assert set(known) == set(STYLE_NAMES), set(known) ^ set(STYLE_NAMES)
check_text()
check_run("transformer", {"tp": 2}, {"all_reduce": 5, "all_gather": 1})
check_run({"": "transformer", "output": "replicate"}, {"tp": 2}, {"all_reduce": 5})
check_run({"data": {"": "data_parallel"}, "model": "transformer {sequence_parallel}"},
          {"data": 1, "model": 2}, {"reduce_scatter": 5, "all_gather": 6})
check_run(MEGATRON, {"tp": 2}, {"all_reduce": 4})
check_run(MEGATRON, 4, {"all_reduce": 4})
# One block stays whole.
check_run({**MEGATRON, "layers.0.attention.w?": tp.Override(tp.ReplicateParallel())}, 2,
          {"all_reduce": 3})
check_run(os.path.join(EXAMPLE, "megatron-replicated-logits.plan.mlir"), "tp=4",
          {"all_reduce": 5, "all_gather": 1})
check_run({"dp": {"argument tokens": tp.Shard(0)}, "tp": MEGATRON}, {"dp": 2, "tp": 2},
          {"all_reduce": 4})
# Axes by index, one without a plan, and a plan for one that the mesh has not.
check_run({-1: MEGATRON}, {"dp": 2, "tp": 2}, {"all_reduce": 4})
# Axes that are as one, in a tuple or with commas; an optional plan is for those that there are.
for together in ("dp", "tp"), ("dp", -1), "dp, tp", "dp,pp,tp optional":
    check_run({together: MEGATRON}, {"dp": 2, "tp": 2}, {"all_reduce": 4})
check_run({"tp": MEGATRON, "pp optional": {"output": "colwise"}}, {"tp": 2}, {"all_reduce": 4})
check_run({"pp optional": {"output": "colwise"}}, {"dp": 2}, {})
# fnmatch's signs.
check_run({"layers.[0-1].attention.w[qkv]": "colwise", "layers.?.attention.wo": "rowwise",
           "layers.*.feed_forward.w[!2]": "colwise", "layers.*.feed_forward.w2": "rowwise"}, 2,
          {"all_reduce": 4})
check_run(sequence_plan(tp, tp.Shard, tp.Replicate), {"tp": 2},
          {"reduce_scatter": 5, "all_gather": 6})

# tp shards over both axes, and the batch over none.
with tp.compile(EXAMPLE, plan="auto", mesh={"dp": 2, "tp": 2}) as both:
    np.testing.assert_allclose(both(TOKENS), LOGITS, rtol=1e-4, atol=1e-5)
    assert both.layouts["tokens"] == "replicate", both.layouts["tokens"]

# Of a weight that stays whole nothing is reduced.
check_run({**{name: "replicate" for name in MEGATRON if "feed_forward" in name},
           **{name: style for name, style in MEGATRON.items() if "feed_forward" not in name}},
          {"tp": 2}, {"all_reduce": 2})

# The model's own plan, as the exporter finds it.
with open(os.path.join(EXAMPLE, "model.mlir"), encoding="utf-8") as file:
    model = SimpleNamespace(mlir=file.read(), weights=os.path.join(EXAMPLE, "weights.safetensors"),
                            own_plan={key: value for key, value in MEGATRON.items()
                                      if isinstance(value, str)}
                            | {"layers.*.attention.wv": "colwise",
                               "layers.*.attention_norm": "replicated_with_grad_allreduce"})
# Alone on a mesh of several axes it is for `tp`.
for plan, tokens in (("hf", "replicate"),
                     ({"dp": {"argument tokens": tp.Shard(0)}, "tp": "hf"},
                      "dp: shard<0>, tp: replicate")):
    with tp.compile(model, plan=plan, mesh={"dp": 2, "tp": 2}) as own:
        assert len(own.collectives) == 4, own.collectives
        assert {row.axes for row in own.collectives} == {"tp"}, own.collectives
        assert own.layouts["tokens"] == tokens, own.layouts["tokens"]
        np.testing.assert_allclose(own(TOKENS), LOGITS, rtol=1e-4, atol=1e-5)
try:
    tp.compile(model, plan="hf", mesh={"dp": 2, "pp": 2})
except tp.CompileError as error:
    assert str(error) == ("plan='hf': the mesh has the axes 'dp', 'pp': expected one named 'tp', "
                          "or a plan per axis such as {'dp': 'hf'}"), error
else:
    raise AssertionError("a plan for the axis tp was accepted on a mesh without it")
NO_EXPERTS = ("plan='hf': the model brings no plan for the axis 'ep': expected a transformers model "
              "with experts and a base_model_ep_plan; write plan='auto' or a dict")
for plan, mesh in (("hf", {"ep": 2, "tp": 2}), ({1: "hf"}, {"tp": 2, "ep": 2}),
                   ({"ep optional": "hf"}, {"ep": 2})):
    try:
        tp.compile(model, plan=plan, mesh=mesh)
    except tp.CompileError as error:
        assert str(error) == NO_EXPERTS, error
    else:
        raise AssertionError(f"a plan for experts was made up for {plan}")
# The axis may be an index. Of an optional axis that the mesh lacks no plan is taken.
for plan, mesh in (({-1: "hf"}, {"dp": 1, "tp": 2}), ({"tp": "hf", "ep optional": "hf"}, {"tp": 2})):
    with tp.compile(model, plan=plan, mesh=mesh) as own:
        assert len(own.collectives) == 4, own.collectives
with tp.compile(model, plan="hf", mesh=2) as own:
    assert len(own.collectives) == 4 and own.mesh == {"tp": 2} and own.size == 2
    assert own.layouts["layers.0.attention.wo.weight"] == "tp: shard<1>"
    assert own.layouts["tokens"] == "replicate"
    assert own.memory["weights"] < own.memory.total
    assert "all_reduce" in own.explain()
    assert re.search("pinned .* by plan entry 'layers.0.attention.wo'|pinned .* by plan entry "
                     "'layers[.][*][.]attention.wo'", own.explain()), own.explain()
    assert "plan.mlir" not in own.explain()
    with tempfile.TemporaryDirectory() as folder:
        own.report(os.path.join(folder, "report.html"))
        with open(os.path.join(folder, "report.html"), encoding="utf-8") as file:
            assert "<table" in file.read()
# A plan without entries leaves all work to every rank, which a warning says.
with warnings.catch_warnings(record=True) as told:
    warnings.simplefilter("always")
    for size in (1, 2):
        tp.compile(SimpleNamespace(mlir=model.mlir, weights=model.weights), plan={}, mesh=size)
assert [str(warning.message) for warning in told] == [
    "plan: it has no entry, so every rank computes the whole model: write plan='auto', or a dict of "
    "styles"] and told[0].filename == __file__, told
# A plan of the head alone leaves all layers on every rank, which a warning says.
HEAD = {"output": "colwise"}
for plan, ranks, said in ((model.own_plan, 2, 0), (HEAD, 1, 0), (HEAD, 2, 1)):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        tp.compile(SimpleNamespace(mlir=model.mlir, weights=model.weights, own_plan=plan),
                   plan="hf", mesh=ranks).close()
    texts = [str(warning.message) for warning in told]
    assert len(texts) == said and all(warning.filename == __file__ for warning in told), texts
assert texts[0].startswith(
    "plan='hf': the model's own plan splits 0 of 14 weights of the model's layers, and every rank "
    "computes with all of 'layers.0.attention.wq.weight', "), texts

model.own_plan["layers.*.mlp"] = "keep_full_weight"
try:
    tp.compile(model, plan="hf", mesh=2)
except tp.CompileError as error:
    assert "'keep_full_weight', which tp lacks" in str(error), error
    assert error.plan_entry == "layers.*.mlp"
else:
    raise AssertionError("a style that tp lacks was accepted")
