"""What a program of edge values is made of: ops that move elements, and maxima and
minima. Their results have bits that do not depend on any order."""

import data_ops
import named_ops
import tensor_ops
from values import reduced_part, type_of


def combiner(p, element):
    """A maximum or minimum of the type."""
    if element == "i1":
        return p.rng.choice(["ori", "andi"])
    if element in ("f64", "f32", "f16", "bf16"):
        return p.rng.choice(["maximumf", "minimumf"])
    return p.rng.choice(["maxsi", "minsi", "maxui", "minui"])


def extremum_over(p):
    """The maximum or minimum over some dimensions."""
    part = reduced_part(p)
    if not part:
        return
    a, gone, shape = part
    init = p.init(shape, a.element, True)
    p.emit(f"linalg.reduce ins({a.name} : {a.type}) outs({init.name} : {init.type}) "
           f"dimensions = {gone}\n    (%i: {a.element}, %o: {a.element}) {{\n"
           f"      %m = arith.{combiner(p, a.element)} %i, %o : {a.element}\n"
           f"      linalg.yield %m : {a.element}\n    }}", shape, a.element)


def extremum_of(p):
    """The maximum or minimum of two tensors."""
    a = p.pick(lambda v: v.element != "index")
    b = a and p.pick(lambda v: v.shape == a.shape and v.element == a.element)
    if b:
        p.emit(f"arith.{combiner(p, a.element)} {a.name}, {b.name} : {a.type}", a.shape,
               a.element)


def lookup(p):
    """Rows of a table at computed places, in a body."""
    a = p.pick(lambda v: v.rank == 2 and min(v.shape) > 0)
    if not a or not p.may_add_arguments:
        return
    rows = p.argument((p.rng.choice([n for n in p.sizes if n] or [3]),), "i32", a.shape[0])
    shape = (rows.shape[0], a.shape[1])
    out = p.empty(shape, a.element)
    p.emit("linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, "
           "affine_map<(d0, d1) -> (d0, d1)>], iterator_types = [\"parallel\", \"parallel\"]} "
           f"ins({rows.name} : {rows.type}) outs({out.name} : {out.type}) {{\n"
           f"    ^bb0(%i: i32, %o: {a.element}):\n"
           "      %row = arith.index_cast %i : i32 to index\n"
           "      %column = linalg.index 1 : index\n"
           f"      %x = tensor.extract {a.name}[%row, %column] : {a.type}\n"
           f"      linalg.yield %x : {a.element}\n    }} -> {type_of(shape, a.element)}",
           shape, a.element)


OPS = [(3, extremum_over), (1, extremum_of), (2, lookup), (1, named_ops.transpose),
       (1, named_ops.broadcast), (0.3, named_ops.copy), (0.5, named_ops.pack),
       (1, tensor_ops.collapse), (1.5, tensor_ops.expand), (0.3, tensor_ops.reshape),
       (1.5, tensor_ops.extract_slice), (1, tensor_ops.insert_slice), (1.5, tensor_ops.concat),
       (1, tensor_ops.pad), (0.3, data_ops.gather), (0.2, data_ops.scatter),
       (0.5, data_ops.constant)]
