"""Cross entropy as linalg on tensors, in the forms that exporters write it."""

import math

from cross_entropy_case import IGNORED
from linalg_text import Program, Tensor


def kept_with_one(x, axis):
    """How the dimensions besides `axis` become all, that one of size 1."""
    rank = len(x.shape)
    first = axis - 1 if axis == rank - 1 else axis
    return [[d] for d in range(first)] + [[first, first + 1]] + [
        [d] for d in range(first + 2, rank)]


def row_maximum(p, case, x, axis):
    element = x.element
    if case.maximum == "alone":
        return p.reduce("arith.maximumf", x, [axis], keep=True, number=-math.inf)
    kept = [size for d, size in enumerate(x.shape) if d != axis]
    ones = [1 if d == axis else size for d, size in enumerate(x.shape)]
    if case.maximum == "named":
        init = p.init(kept, element, -math.inf)
        found = p.op(f"linalg.reduce {{ arith.maximumf }} ins({x.name} : {x.type}) "
                     f"outs({init.name} : {init.type}) dimensions = [{axis}]",
                     kept, element)
        return p.reshape(found, ones, kept_with_one(x, axis))
    loops = [f"d{d}" for d in range(len(x.shape))]
    target = ", ".join(d for d in loops if d != f"d{axis}")
    inits = [p.init(kept, element, -math.inf), p.init(kept, "i64", 0)]
    combiner = "maxnumf" if case.maximum == "maxnumf" else "maximumf"
    found = p.generic(
        [", ".join(loops), target, target],
        ["reduction" if d == axis else "parallel" for d in range(len(x.shape))],
        [x], inits,
        [f"%b0 = linalg.index {axis} : index",
         "%b1 = arith.index_cast %b0 : index to i64",
         f"%b2 = arith.{combiner} %a0, %a1 : {element}",
         f"%b3 = arith.cmpf ogt, %a0, %a1 : {element}",
         "%b4 = arith.select %b3, %b1, %a2 : i64"], ["%b2", "%b4"])
    return p.reshape(found, ones, kept_with_one(x, axis))


def log_softmax(p, case, x, axis):
    """Logarithms of probabilities and of the sums of exponentials."""
    e = x.element
    if case.form == "named":
        init = p.init(x.shape, e)
        probabilities = p.op(f"linalg.softmax dimension({axis}) ins({x.name} : {x.type}) "
                             f"outs({init.name} : {x.type}) -> {x.type}", x.shape, e)
        return p.elementwise(f"%b0 = math.log %a0 : {e}", probabilities), None
    largest = row_maximum(p, case, x, axis)
    if case.form in ("guarded", "fused"):
        infinite = p.scalar(math.inf, e)
        zero = p.scalar(0.0, e)
        largest = p.elementwise(
            [f"%b0 = math.absf %a0 : {e}", f"%b1 = arith.cmpf oeq, %b0, {infinite} : {e}",
             f"%b2 = arith.select %b1, {zero}, %a0 : {e}"], largest)
    shifted = p.elementwise(f"%b0 = arith.subf %a0, %a1 : {e}", x, largest)
    powers = p.elementwise(f"%b0 = math.exp %a0 : {e}", shifted)
    total = p.reduce("arith.addf", powers, [axis], keep=True)
    log_total = p.elementwise(f"%b0 = math.log %a0 : {e}", total)
    lse = p.elementwise(f"%b0 = arith.addf %a0, %a1 : {e}", log_total, largest)
    if case.form == "exported":
        logs = p.elementwise(f"%b0 = arith.subf %a0, %a1 : {e}", shifted, log_total)
    elif case.form == "softmax":
        probabilities = p.elementwise(f"%b0 = arith.divf %a0, %a1 : {e}", powers, total)
        logs = p.elementwise(f"%b0 = math.log %a0 : {e}", probabilities)
    else:
        logs = p.elementwise(f"%b0 = arith.subf %a0, %a1 : {e}", x, lse)
    return logs, lse


def gather(p, table, labels, axis):
    """torch.gather along `axis` at labels with a dimension of size 1 there."""
    rank = len(table.shape)
    shape = [1 if d == axis else size for d, size in enumerate(table.shape)]
    groups = kept_with_one(table, axis)
    index = p.reshape(labels, shape, groups)
    bound = p.scalar(table.shape[axis], "index")
    zero = p.scalar(0, "i64")
    body = [f"%i{d} = linalg.index {d} : index" for d in range(rank) if d != axis]
    body += [f"%i{axis} = arith.index_cast %a0 : i64 to index",
             f"%b0 = arith.cmpi slt, %i{axis}, {bound} : index",
             'cf.assert %b0, "index must be smaller than dim size"',
             f"%b1 = arith.cmpi sge, %a0, {zero} : i64",
             'cf.assert %b1, "index must be larger or equal to 0"',
             f"%b2 = tensor.extract {table.name}["
             f"{', '.join(f'%i{d}' for d in range(rank))}] : {table.type}"]
    dims = ", ".join(f"d{d}" for d in range(rank))
    picked = p.generic([dims, dims], ["parallel"] * rank, [index],
                       [p.init(shape, table.element, 0.0)], body, ["%b2"])
    return p.reshape(picked, labels.shape, groups)


def one_hot(p, table, labels, axis):
    """The element of each row whose index is the label, as a masked sum."""
    rank, e = len(table.shape), table.element
    dims = [f"d{d}" for d in range(rank)]
    kept = ", ".join(d for d in dims if d != f"d{axis}")
    zero = p.scalar(0.0, e)
    return p.generic(
        [", ".join(dims), kept, kept],
        ["reduction" if d == axis else "parallel" for d in range(rank)],
        [table, labels], [p.init(labels.shape, e, 0.0)],
        [f"%b0 = linalg.index {axis} : index",
         "%b1 = arith.index_cast %b0 : index to i64",
         "%b2 = arith.cmpi eq, %b1, %a1 : i64",
         f"%b3 = arith.select %b2, %a0, {zero} : {e}",
         f"%b4 = arith.addf %b3, %a2 : {e}"], ["%b4"])


def fused_loss(p, case, logits, lse, labels, counted):
    """lse - logits[label] where it counts, of each row or summed up, by one op."""
    e, rows = logits.element, logits.shape[0]
    isSum = case.target == "within-sum"
    zero = p.scalar(0.0, e)
    column = p.reshape(lse, [rows], [[0, 1]])
    body = ["%i0 = linalg.index 0 : index",
            "%i1 = arith.index_cast %a0 : i64 to index",
            f"%b0 = tensor.extract {logits.name}[%i0, %i1] : {logits.type}",
            f"%b1 = arith.subf %a1, %b0 : {e}",
            f"%b2 = arith.select %a2, %b1, {zero} : {e}"]
    if isSum:
        body.append(f"%b3 = arith.addf %b2, %a3 : {e}")
    return p.generic(["d0", "d0", "d0", "" if isSum else "d0"],
                     ["reduction" if isSum else "parallel"], [labels, column, counted],
                     [p.init([] if isSum else [rows], e, 0.0)], body,
                     ["%b3" if isSum else "%b2"])


def logits_gradient(p, logs, labels, counted, divisor):
    """Of nll_loss and log_softmax, as autograd exports them: what is -1/divisor at the
    label, less the probabilities times its sum."""
    e, rows, classes = logs.element, *logs.shape
    column = p.reshape(labels, [rows, 1], [[0, 1]])
    isCounted = p.reshape(counted, [rows, 1], [[0, 1]])
    indices = p.generic(["d0"], ["parallel"], [], [p.init([classes], "i64")],
                        ["%b0 = linalg.index 0 : index",
                         "%b1 = arith.index_cast %b0 : index to i64"], ["%b1"])
    indices = p.reshape(indices, [1, classes], [[0, 1]])
    isLabel = p.elementwise("%b0 = arith.cmpi eq, %a0, %a1 : i64", indices, column,
                            element="i1")
    minus, zero, one = (p.scalar(number, e) for number in (-1.0, 0.0, 1.0))
    picked = p.elementwise(f"%b0 = arith.select %a0, {minus}, {zero} : {e}", isLabel,
                           element=e)
    share = p.elementwise(f"%b0 = arith.divf {one}, %a0 : {e}", divisor)
    share = p.elementwise(f"%b0 = arith.select %a0, %a1, {zero} : {e}", isCounted,
                          p.reshape(share, [1, 1], "[]"), element=e)
    picked = p.elementwise(f"%b0 = arith.mulf %a0, %a1 : {e}", picked, share)
    powers = p.elementwise(f"%b0 = math.exp %a0 : {e}", logs)
    total = p.reduce("arith.addf", picked, [1], keep=True)
    products = p.elementwise(f"%b0 = arith.mulf %a0, %a1 : {e}", powers, total)
    return p.elementwise(f"%b0 = arith.subf %a0, %a1 : {e}", picked, products)


def build(case):
    """The program, its arguments as (name, tensor), and its results."""
    p = Program()
    half = case.rows // 2
    shape, label_shape, axis = {
        "rows": ([case.rows, case.classes], [case.rows], 1),
        "shifted": ([2, half + 1, case.classes], [2, half + 1], 2),
        "padded": ([2, half, case.classes], [2, half], 2),
        "channels": ([2, case.classes, half], [2, half], 1)}[case.shape]
    logits = p.argument("logits", shape, "f64" if case.element == "f64" else "f32")
    probabilities = case.target == "probabilities"
    if probabilities:
        labels = p.argument("labels", shape, "f32")
    else:
        labels = p.argument("labels", label_shape, "i64")
    weight = (p.argument("weight", [case.classes], logits.element)
              if case.weighted else None)

    x = logits
    if case.shape == "shifted":
        kept = [2, half, case.classes]
        x = p.reshape(p.slice(x, [0, 0, 0], kept), [case.rows, case.classes],
                      [[0, 1], [2]])
        labels = p.reshape(p.slice(labels, [0, 1], [2, half]), [case.rows], [[0, 1]])
        axis = 1
    if case.shape == "padded":
        x = p.reshape(x, [case.rows, case.classes], [[0, 1], [2]])
        ignored = p.scalar(IGNORED, "i64")
        longer = Tensor("", [2, half + 1], "i64")
        longer = p.op(f"tensor.pad {labels.name} low[0, 0] high[0, 1] {{\n"
                      "    ^bb0(%p0: index, %p1: index):\n"
                      f"      tensor.yield {ignored} : i64\n"
                      f"    }} : {labels.type} to {longer.type}", longer.shape, "i64")
        labels = p.reshape(p.slice(longer, [0, 1], [2, half]), [case.rows], [[0, 1]])
        axis = 1
    if case.element in ("bf16", "f16"):
        x = p.elementwise(f"%b0 = arith.truncf %a0 : f32 to {case.element}", x,
                          element=case.element)
    if case.widened:
        x = p.elementwise(f"%b0 = arith.extf %a0 : {case.element} to f32", x,
                          element="f32")
    e = x.element
    logs, lse = log_softmax(p, case, x, axis)
    everything = list(range(len(x.shape)))
    if probabilities:
        smoothed = labels
        if case.smoothing:
            keep = p.scalar(1 - case.smoothing, e)
            share = p.scalar(case.smoothing / case.classes, e)
            smoothed = p.elementwise([f"%b0 = arith.mulf %a0, {keep} : {e}",
                                      f"%b1 = arith.addf %b0, {share} : {e}"], labels)
        products = p.elementwise(f"%b0 = arith.mulf %a0, %a1 : {e}", logs, smoothed)
        loss = p.reduce("arith.addf", products, [axis])
        loss = p.elementwise(f"%b0 = arith.negf %a0 : {e}", loss)
        if case.reduction != "none":
            loss = p.reduce("arith.addf", loss, list(range(len(loss.shape))))
        if case.reduction == "mean":
            rows = p.scalar(float(case.rows), e)
            loss = p.elementwise(f"%b0 = arith.divf %a0, {rows} : {e}", loss)
        return p.text([loss]), p.arguments, [loss]

    if case.ignore:
        ignored, zero = p.scalar(IGNORED, "i64"), p.scalar(0, "i64")
        counted = p.elementwise(f"%b0 = arith.cmpi ne, %a0, {ignored} : i64", labels,
                                element="i1")
        labels = p.elementwise(f"%b0 = arith.select %a1, %a0, {zero} : i64", labels,
                               counted)
    none = p.scalar(0.0, e)

    def masked(value):
        if not case.ignore:
            return value
        return p.elementwise(f"%b0 = arith.select %a1, %a0, {none} : {e}", value, counted)

    pick = one_hot if case.target == "one-hot" else gather
    table = logs
    if weight:
        w = weight
        if axis != len(x.shape) - 1:
            w = p.reshape(weight, [case.classes, 1], [[0, 1]])
        table = p.elementwise(f"%b0 = arith.mulf %a0, %a1 : {e}", logs, w)
    if case.target.startswith("within"):
        loss = fused_loss(p, case, x, lse, labels, counted)
    elif case.form == "fused" and not weight:
        picked = pick(p, x, labels, axis)
        rows_lse = p.reduce("arith.addf", lse, [axis])
        loss = p.elementwise(f"%b0 = arith.subf %a0, %a1 : {e}", rows_lse, picked)
    else:
        picked = pick(p, table, labels, axis)
        loss = p.elementwise(f"%b0 = arith.negf %a0 : {e}", picked)
    if not case.target.startswith("within"):
        loss = masked(loss)
    divisor = None
    if weight:
        wide = p.elementwise([f"%b0 = arith.addf %a0, %a1 : {e}"], w,
                             p.init(x.shape, e, 0.0))
        divisor = masked(gather(p, wide, labels, axis))
        divisor = p.reduce("arith.addf", divisor, list(range(len(divisor.shape))))
    elif case.reduction == "mean" and case.ignore:
        numbers = p.elementwise("%b0 = arith.extui %a0 : i1 to i64", counted,
                                element="i64")
        divisor = p.reduce("arith.addi", numbers, list(range(len(counted.shape))),
                           number=0)
        divisor = p.elementwise(f"%b0 = arith.sitofp %a0 : i64 to {e}", divisor,
                                element=e)

    def reduced(value):
        if case.reduction == "none":
            return value
        value = p.reduce("arith.addf", value, list(range(len(value.shape))))
        if case.reduction == "mean" and divisor:
            return p.elementwise(f"%b0 = arith.divf %a0, %a1 : {e}", value, divisor)
        if case.reduction == "mean":
            rows = p.scalar(float(case.rows), e)
            return p.elementwise(f"%b0 = arith.divf %a0, {rows} : {e}", value)
        return value

    loss = reduced(loss)
    if case.smoothing:
        smooth = p.reduce("arith.addf", table, [axis])
        smooth = reduced(masked(p.elementwise(f"%b0 = arith.negf %a0 : {e}", smooth)))
        keep = p.scalar(1 - case.smoothing, e)
        share = p.scalar(case.smoothing / case.classes, e)
        loss = p.elementwise(
            [f"%b0 = arith.mulf %a0, {keep} : {e}", f"%b1 = arith.mulf %a1, {share} : {e}",
             f"%b2 = arith.addf %b0, %b1 : {e}"], loss, smooth)
    if case.z_loss:
        z = p.scalar(case.z_loss, e)
        squares = p.reduce("arith.addf", p.elementwise(
            f"%b0 = arith.mulf %a0, %a0 : {e}", lse), everything)
        loss = p.elementwise([f"%b0 = arith.mulf %a1, {z} : {e}",
                              f"%b1 = arith.addf %a0, %b0 : {e}"], loss, squares)
    results = [loss]
    if case.gradient:
        results.append(logits_gradient(p, logs, labels, counted, divisor))
    return p.text(results), p.arguments, results
