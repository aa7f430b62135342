"""Complex numbers: made of two tensors, computed with, taken apart."""

from values import product_of, sum_of, type_of


def elementwise(p, inputs, element, lines, result):
    """A linalg.generic over the common shape of `inputs`; returns the name."""
    shape = inputs[0].shape
    dims = ", ".join(f"d{i}" for i in range(len(shape)))
    out = p.fresh(f"tensor.empty() : {type_of(shape, element)}")
    kinds = ", ".join(['"parallel"'] * len(shape))
    same = f"affine_map<({dims}) -> ({dims})>"
    return p.fresh(
        f"linalg.generic {{indexing_maps = [{', '.join([same] * (len(inputs) + 1))}], "
        f"iterator_types = [{kinds}]}} ins({', '.join(v.name for v in inputs)} : "
        f"{', '.join(v.type for v in inputs)}) outs({out} : {type_of(shape, element)}) {{\n"
        f"    ^bb0({', '.join(f'%i{i}: {v.element}' for i, v in enumerate(inputs))}, "
        f"%o: {element}):\n" + "".join(f"      {line}\n" for line in lines) +
        f"      linalg.yield {result} : {element}\n    }} -> {type_of(shape, element)}")


def arithmetic(p):
    a = p.pick(lambda v: v.element in ("f32", "f64"))
    b = a and p.pick(lambda v: v.shape == a.shape and v.element == a.element)
    if not b:
        return
    c = f"complex<{a.element}>"
    name = elementwise(p, [a, b], c, [f"%c = complex.create %i0, %i1 : {c}"], "%c")
    value = type(a)(name, a.shape, c)
    op = p.rng.choice(["add", "sub", "mul", "conj", "neg"])
    x, y = (a.bound, a.error), (b.bound, b.error)
    if op == "mul":
        first, second = product_of(a.element, x, x), product_of(a.element, y, y)
        exactness = sum_of(a.element, 1, *first, *second)
        exactness = max(exactness[0], 2 * x[0] * y[0]), exactness[1] + 2 * (
            x[0] * y[1] + y[0] * x[1])
    else:
        exactness = 2 * max(x[0], y[0]), 2 * max(x[1], y[1])
    operands = "%i0, %i0" if op in ("add", "sub", "mul") else "%i0"
    name = elementwise(p, [value], c, [f"%c = complex.{op} {operands} : {c}"], "%c")
    value = type(a)(name, a.shape, c)
    if value.rank and p.rng.random() < 0.5:
        order = list(range(a.rank))
        p.rng.shuffle(order)
        shape = [a.shape[i] for i in order]
        out = p.fresh(f"tensor.empty() : {type_of(shape, c)}")
        name = p.fresh(f"linalg.transpose ins({value.name} : {value.type}) outs({out} : "
                       f"{type_of(shape, c)}) permutation = {order}")
        value = type(a)(name, shape, c)
    part = p.rng.choice(["re", "im"])
    name = elementwise(p, [value], a.element, [f"%r = complex.{part} %i0 : {c}"], "%r")
    p.offer(type(a)(name, value.shape, a.element, *exactness))


OPS = [(0.15, arithmetic)]
