"""Compiles programs that the compiler warns about, and looks at the Python warnings.

    compile_warnings.py FOLDER EXAMPLE
"""
from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings

import tp
from tp.__main__ import main as shell

FOLDER, EXAMPLE = sys.argv[1:]
MODEL = """\
func.func @main(%x: tensor<3x4xf32> {tp.name = "x", tp.kind = "user_input"},
    %dead: tensor<4x4xf32> {tp.name = "dead.weight", tp.kind = "KIND"},
    %w: tensor<4xf32> {tp.name = "norm.scale", tp.kind = "KIND"})
    -> (tensor<3x4xf32> {tp.name = "output", tp.kind = "user_output"}) {
  %empty = tensor.empty() : tensor<3x4xf32>
  %b = linalg.broadcast ins(%w : tensor<4xf32>) outs(%empty : tensor<3x4xf32>) dimensions = [0]
  %y = linalg.add ins(%x, %b : tensor<3x4xf32>, tensor<3x4xf32>)
      outs(%empty : tensor<3x4xf32>) -> tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}
"""


def write(name: str, text: str) -> str:
    path = os.path.join(FOLDER, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    return path


def told(model: str, **arguments: object) -> list[warnings.WarningMessage]:
    """The warnings of a compilation."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        tp.compile(model, **arguments)
    return found


model = write("model.mlir", MODEL.replace("KIND", "parameter"))

# An entry that shards nothing: its key, at the line of the caller.
[entry] = told(model, plan={"dead": "colwise"}, mesh=4)
assert entry.category is tp.PlanWarning and entry.filename == __file__, entry
assert str(entry.message) == (
    "plan entry 'dead': nothing reads 'dead.weight', the entry has no effect on module 'dead'"
), entry.message
assert entry.message.plan_entry == "dead"

# The same of a plan file, whose line is told.
plan = write("plan.mlir", '#mesh = #tp.mesh<"tp" = 4>\ntp.plan @p on #mesh["tp"] {\n'
             '  tp.parallelize "dead" with colwise\n}\n')
[entry] = told(model, plan=plan)
assert str(entry.message).startswith(f"{plan}:3:3: nothing reads 'dead.weight'"), entry.message
assert entry.message.plan_entry is None

# A position that is a weight's; an input's, a name, and a weight that has none are as they should be.
[entry] = told(model, plan={"argument 2": tp.Replicate(), "argument 0": tp.Shard(0)}, mesh=3)
assert str(entry.message) == (
    "plan entry 'argument 2': positions count parameters too, and this is the parameter "
    "'norm.scale': write 'argument norm.scale', or for an input 'argument x'"), entry.message
assert entry.category is tp.PlanWarning and entry.message.plan_entry == "argument 2"
assert entry.filename == __file__, entry
assert not told(model, plan={"argument norm.scale": tp.Replicate()}, mesh=3)
nameless = write("nameless.mlir", MODEL.replace("KIND", "parameter").replace(
    'tp.name = "norm.scale", ', ""))
assert not told(nameless, plan={"argument 2": tp.Replicate()}, mesh=3)

# Ranks without work, and a model whose weights tp does not see: no place, so none is made up.
buffers = write("buffers.mlir", MODEL.replace("KIND", "constant_tensor"))
rows = [str(row.message) for row in told(buffers, plan={"tp": "auto"}, mesh=7)]
assert rows == [
    f"{buffers}: the plan leaves the layouts of parameters to tp, and no argument has 'tp.kind = "
    '"parameter"\': every rank may do all the work; tp.export_jax takes them as \'parameters=\'',
    f"{buffers}: 3 of 7 ranks hold no part of any result: rank 4, 5, 6"], rows

# An entry that is forgotten, with what to write.
LAYERS = {"tok_embeddings": "rowwise", "output": "colwise",
          **{f"layers.*.attention.{name}": "colwise" for name in ("wq", "wk", "wv")},
          **{f"layers.*.feed_forward.{name}": "colwise" for name in ("w1", "w3")},
          "layers.*.feed_forward.w2": "rowwise"}
[entry] = told(EXAMPLE, plan=LAYERS, mesh=2)
assert entry.category is tp.PlanWarning, entry
assert "no plan entry names 'layers.*.attention.wo' (2 modules)" in str(entry.message), entry.message
assert '"layers.*.attention.wo": "rowwise"' in str(entry.message), entry.message
assert not told(EXAMPLE, plan={**LAYERS, "layers.*.attention.wo": "rowwise"}, mesh=2)

# Programs as they should be.
assert not told(EXAMPLE, plan="auto", mesh=2)
assert not told(model, plan="auto", mesh=2)

# Remarks go to stderr, with the plan's entries in place of lines that the user never wrote.
err = io.StringIO()
with contextlib.redirect_stderr(err):
    tp.compile(EXAMPLE, plan={"tok_embeddings": "rowwise", "output": "colwise"}, mesh=2, remarks=True)
remark, note = err.getvalue().splitlines()[:2]
assert remark.endswith(" takes operand #0 from partial<sum> to replicate on axis 'tp' by "
                       "all_reduce, 32768 bytes per rank"), remark
assert note == ("plan entry 'tok_embeddings': note: the value is made by output of "
                "'tok_embeddings'"), note

# From a shell each is one line.
err = io.StringIO()
with contextlib.redirect_stderr(err), contextlib.redirect_stdout(io.StringIO()):
    assert shell(["compile", model, f"--plan={plan}", "-o", os.path.join(FOLDER, "m.tp")]) == 0
assert err.getvalue() == (
    f"python -m tp compile: warning: {plan}:3:3: nothing reads 'dead.weight', the entry has no "
    "effect on module 'dead'\n"), err.getvalue()
print("12 compilations")
