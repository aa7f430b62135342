"""Ops on values and their derivatives, named as in PyTorch's traced graphs."""

import math

from graph import tensor_type


def record(result, operands, vjp):
    result.graph.record([result], operands, lambda gradients: vjp(gradients[0]))
    return result


def broadcast(*shapes):
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + tuple(shape) for shape in shapes]
    return tuple(max(sizes) for sizes in zip(*padded))


def elementwise(base, operands, body, shape=None, element=None, node=None):
    """body: lines on %i0, %i1, ... that end with what is yielded; "{t}" is the
    element type of the result."""
    graph = operands[0].graph
    node = node or graph.node(base)
    shape = broadcast(*(x.shape for x in operands)) if shape is None else tuple(shape)
    element = element or operands[0].element
    rank = len(shape)
    inputs = []
    for x in operands:
        first = rank - len(x.shape)
        inputs.append((x, [
            None if size == 1 and shape[first + i] != 1 else first + i
            for i, size in enumerate(x.shape)]))
    return graph.generic(
        node, rank, inputs, [(graph.empty(shape, element, node), range(rank))],
        [line.replace("{t}", element) for line in body])


def binary(op, base, a, b, node=None):
    return elementwise(base, [a, b], [f"%p = {op} %i0, %i1 : {{t}}", "%p"], node=node)


def unary(op, base, x, node=None):
    return elementwise(base, [x], [f"%p = {op} %i0 : {{t}}", "%p"], node=node)


def with_number(op, base, x, number, node=None):
    """op on the elements and one number."""
    constant = x.graph.constant(number, x.element)
    return elementwise(base, [x], [f"%p = {op} %i0, {constant} : {{t}}", "%p"], node=node)


def reduced_to(gradient, x):
    """The gradient of a broadcast operand: summed where it was repeated."""
    first = len(gradient.shape) - len(x.shape)
    dims = list(range(first)) + [
        first + i for i, size in enumerate(x.shape)
        if size == 1 and gradient.shape[first + i] != 1]
    return reshape(sum_of(gradient, dims), x.shape) if dims else gradient


# Arithmetic.

def add(a, b):
    return record(binary("arith.addf", "add", a, b), [a, b],
                  lambda g: [reduced_to(g, a), reduced_to(g, b)])


def subtract(a, b):
    return record(binary("arith.subf", "sub", a, b), [a, b],
                  lambda g: [reduced_to(g, a), reduced_to(negate(g), b)])


def multiply(a, b):
    return record(binary("arith.mulf", "mul", a, b), [a, b],
                  lambda g: [reduced_to(multiply(g, b), a) if a.hasGradient else None,
                             reduced_to(multiply(g, a), b) if b.hasGradient else None])


def negate(x):
    return record(unary("arith.negf", "neg", x), [x], lambda g: [negate(g)])


def scale(x, number):
    return record(with_number("arith.mulf", "mul", x, number), [x],
                  lambda g: [scale(g, number)])


def divide_by(x, number):
    return record(with_number("arith.divf", "div", x, number), [x],
                  lambda g: [divide_by(g, number)])


def add_number(x, number):
    return record(with_number("arith.addf", "add", x, number), [x], lambda g: [g])


def subtract_from(number, x):
    constant = x.graph.constant(number, x.element)
    return record(
        elementwise("sub", [x], [f"%p = arith.subf {constant}, %i0 : {{t}}", "%p"]), [x],
        lambda g: [negate(g)])


def power(x, exponent):
    number = x.graph.constant(exponent, "i64")
    y = elementwise("pow", [x], [f"%p = math.fpowi %i0, {number} : {{t}}, i64", "%p"])
    return record(y, [x], lambda g: [multiply(g, scale(
        power(x, exponent - 1) if exponent > 2 else x, float(exponent)))])


def rsqrt(x):
    y = unary("math.rsqrt", "rsqrt", x)
    return record(y, [x], lambda g: [multiply(scale(g, -0.5), power(y, 3))])


def exp(x):
    y = unary("math.exp", "exp", x)
    return record(y, [x], lambda g: [multiply(g, y)])


def sigmoid(x):
    one = x.graph.constant(1.0, x.element)
    y = elementwise("sigmoid", [x], [
        "%n = arith.negf %i0 : {t}", "%e = math.exp %n : {t}",
        f"%a = arith.addf %e, {one} : {{t}}", f"%p = arith.divf {one}, %a : {{t}}", "%p"])
    return record(y, [x], lambda g: [
        multiply(multiply(g, y), subtract_from(1.0, y))])


def tanh(x):
    y = unary("math.tanh", "tanh", x)
    return record(y, [x], lambda g: [multiply(g, subtract_from(1.0, power(y, 2)))])


def erf(x):
    return record(unary("math.erf", "erf", x), [x], lambda g: [
        multiply(g, scale(exp(negate(power(x, 2))), 2.0 / math.sqrt(math.pi)))])


def cast(x, element):
    if x.element == element:
        return x
    width = {"bf16": 16, "f32": 32, "f64": 64}
    op = "arith.extf" if width[element] > width[x.element] else "arith.truncf"
    y = elementwise("convert_element_type", [x],
                    [f"%p = {op} %i0 : {x.element} to {element}", "%p"], element=element)
    return record(y, [x], lambda g: [cast(g, x.element)])


# Sums and copies.

def sum_of(x, dims, node=None):
    """Keeps the summed dimensions, with size 1. Narrow elements are summed in the
    wide type."""
    graph, node = x.graph, node or x.graph.node("sum")
    rank, wide = len(x.shape), graph.wide
    shape = [1 if i in dims else size for i, size in enumerate(x.shape)]
    widened = ["%w = arith.extf %i0 : " + f"{x.element} to {wide}"]
    body = [f"%p = arith.addf %i0, %o0 : {wide}", "%p"] if x.element == wide else \
        widened + [f"%p = arith.addf %w, %o0 : {wide}", "%p"]
    y = graph.generic(
        node, rank, [(x, range(rank))],
        [(graph.fill(0.0, shape, wide, node),
          [None if i in dims else i for i in range(rank)])], body, reductions=dims)
    if x.element != wide:
        y = rounded(y, x.element, node)
    return record(y, [x], lambda g: [expand(g, x.shape)])


def rounded(x, element, node):
    return elementwise("", [x], [f"%p = arith.truncf %i0 : {x.element} to {element}",
                                 "%p"], element=element, node=node)


def mean(x, dim):
    size = float(x.shape[dim])
    total = sum_of(x, [dim % len(x.shape)], x.graph.node("mean"))
    y = with_number("arith.divf", "mean", total, size, node=total.node)
    return record(y, [total], lambda g: [divide_by(g, size)])


def expand(x, shape):
    y = elementwise("expand", [x], ["%i0"], shape=shape)
    return record(y, [x], lambda g: [reduced_to(g, x)])


# Views.

def transpose(x, permutation):
    permutation = list(permutation)
    if x.view and x.view[0] == "transpose":
        _, source, inner = x.view
        composed = [inner[p] for p in permutation]
        return source if composed == sorted(composed) else transpose(source, composed)
    graph, node = x.graph, x.graph.node("permute")
    shape = [x.shape[p] for p in permutation]
    init = graph.empty(shape, x.element, node)
    y = graph.op(f"linalg.transpose ins({x.name} : {x.type}) outs({init.name} : "
                 f"{init.type}) permutation = {permutation}", [x, init],
                 [(shape, x.element)], node)
    y.view = ("transpose", x, permutation)
    back = [permutation.index(i) for i in range(len(permutation))]
    return record(y, [x], lambda g: [transpose(g, back)])


def shape_groups(source, target):
    """Runs of dimensions of the same sizes' product: [(dims of source, of target)]."""
    groups, i, j = [], 0, 0
    while i < len(source) or j < len(target):
        a, b, left, right = [], [], 1, 1
        while not a or not b or left != right:
            # Of equal products the side that has no dimension yet takes one.
            if left < right or (left == right and not a):
                left, a, i = left * source[i], a + [i], i + 1
            else:
                right, b, j = right * target[j], b + [j], j + 1
        groups.append((a, b))
        # What is left is of size 1 and joins the last run.
        if math.prod(source[i:]) == 1 and math.prod(target[j:]) == 1 and (
                i == len(source) or j == len(target)):
            a.extend(range(i, len(source)))
            b.extend(range(j, len(target)))
            break
    return groups


def reshape(x, shape, node=None):
    shape = tuple(shape)
    if shape == x.shape:
        return x
    if x.view and x.view[0] == "reshape":
        source = x.view[1]
        if shape == source.shape:
            return source
        groups = shape_groups(source.shape, shape)
        # Two views in a row that are one are exported as one.
        if all(len(a) == 1 for a, _ in groups) or all(len(b) == 1 for _, b in groups):
            return reshape(source, shape)
    graph, node = x.graph, node or x.graph.node("view")
    groups = shape_groups(x.shape, shape)
    if all(len(a) == 1 for a, _ in groups):
        y = graph.op(
            f"tensor.expand_shape {x.name} {[b for _, b in groups]} output_shape "
            f"{list(shape)} : {x.type} into {tensor_type(shape, x.element)}", [x],
            [(shape, x.element)], node)
    elif all(len(b) == 1 for _, b in groups):
        y = graph.op(
            f"tensor.collapse_shape {x.name} {[a for a, _ in groups]} : {x.type} into "
            f"{tensor_type(shape, x.element)}", [x], [(shape, x.element)], node)
    else:
        merged = [math.prod(x.shape[i] for i in a) for a, _ in groups]
        return reshape(reshape(x, merged, node), shape, node)
    y.view = ("reshape", x)
    return record(y, [x], lambda g: [reshape(g, x.shape)])


def split(x, sizes, dim):
    """Consecutive parts along a dimension."""
    graph, node = x.graph, x.graph.node("split")
    dim %= len(x.shape)
    parts, start = [], 0
    for size in sizes:
        shape = x.shape[:dim] + (size,) + x.shape[dim + 1:]
        offsets = [start if i == dim else 0 for i in range(len(shape))]
        parts.append(graph.op(
            f"tensor.extract_slice {x.name}{offsets} {list(shape)} "
            f"{[1] * len(shape)} : {x.type} to {tensor_type(shape, x.element)}", [x],
            [(shape, x.element)], node))
        start += size
    graph.record(parts, [x], lambda gradients: [concatenate(
        [g or graph.fill(0.0, part.shape, x.element, graph.node("zeros"))
         for g, part in zip(gradients, parts)], dim)])
    return parts


def part(x, dim, start, size, stride=1):
    """A slice, whose gradient comes in zeros of the whole shape."""
    dim %= len(x.shape)
    shape = x.shape[:dim] + (size,) + x.shape[dim + 1:]
    offsets, strides = ([value if i == dim else other for i in range(len(shape))]
                        for value, other in ((start, 0), (stride, 1)))
    graph = x.graph
    result = graph.op(
        f"tensor.extract_slice {x.name}{offsets} {list(shape)} {strides} : {x.type} to "
        f"{tensor_type(shape, x.element)}", [x], [(shape, x.element)], graph.node("slice"))

    def vjp(g):
        node = graph.node("slice_backward")
        zeros = graph.fill(0.0, x.shape, x.element, node)
        return [graph.op(
            f"tensor.insert_slice {g.name} into {zeros.name}{offsets} {list(shape)} {strides} : "
            f"{g.type} into {zeros.type}", [g, zeros], [(x.shape, x.element)], node)]
    return record(result, [x], vjp)


def concatenate(parts, dim):
    graph, node = parts[0].graph, parts[0].graph.node("cat")
    dim %= len(parts[0].shape)
    sizes = [part.shape[dim] for part in parts]
    shape = list(parts[0].shape)
    shape[dim] = sum(sizes)
    y = graph.op(
        f"tensor.concat dim({dim}) {', '.join(p.name for p in parts)} : "
        f"({', '.join(p.type for p in parts)}) -> {tensor_type(shape, parts[0].element)}", parts,
        [(shape, parts[0].element)], node)
    return record(y, parts, lambda g: split(g, sizes, dim))


# Products.

def accumulated(op, base, a, b, shape):
    """A product; narrow elements are summed in f32 and rounded once."""
    graph, node = a.graph, a.graph.node(base)
    element = "f32" if a.element == "bf16" else a.element
    zero = graph.fill(0.0, shape, element, node)
    y = graph.op(f"linalg.{op} ins({a.name}, {b.name} : {a.type}, {b.type}) outs("
                 f"{zero.name} : {zero.type}) -> {zero.type}", [a, b, zero],
                 [(shape, element)], node)
    return y if element == a.element else rounded(y, a.element, node)


def matmul(a, b):
    y = accumulated("matmul", "mm", a, b, (a.shape[0], b.shape[1]))

    def vjp(g):
        da = matmul(g, transpose(b, [1, 0])) if a.hasGradient else None
        if not b.hasGradient:
            return [da, None]
        # Of a transposed weight the weight's own gradient is the product.
        if b.view and b.view[0] == "transpose":
            return [da, transpose(matmul(transpose(g, [1, 0]), a), [1, 0])]
        return [da, matmul(transpose(a, [1, 0]), g)]

    return record(y, [a, b], vjp)


def batch_matmul(a, b):
    y = accumulated("batch_matmul", "bmm", a, b, (a.shape[0], a.shape[1], b.shape[2]))
    swap = [0, 2, 1]
    return record(y, [a, b], lambda g: [
        batch_matmul(g, transpose(b, swap)) if a.hasGradient else None,
        batch_matmul(transpose(a, swap), g) if b.hasGradient else None])
