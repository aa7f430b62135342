"""What models are made of, with the derivatives that PyTorch has for them."""

import math

import operations as op

LOSS = "<loss>"


def linear(x, weight, bias=None, isTransposed=True):
    """x: [..., in]. Weights are [out, in] (Linear) or, not transposed, [in, out] (Conv1D)."""
    columns = op.transpose(weight, [1, 0]) if isTransposed else weight
    y = op.matmul(op.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])), columns)
    if bias is not None:
        y = op.add(y, bias)
    return op.reshape(y, x.shape[:-1] + (columns.shape[1],))


def lookup(base, table, dim, indices, shape, read):
    """A generic over `shape`, of which `indices` has the leading dimensions; its body
    reads `table` where dimension `dim` is an element of `indices`, %t. read: the lines
    that make %p of it."""
    graph, node = table.graph, table.graph.node(base)
    size, zero = graph.constant(table.shape[dim], "index"), graph.constant(0, "i64")
    return graph.generic(
        node, len(shape),
        [(indices, [None if indices.shape[i] == 1 and shape[i] != 1 else i
                    for i in range(len(indices.shape))])],
        [(graph.empty(shape, table.element, node), range(len(shape)))],
        ["%t = arith.index_cast %i0 : i64 to index",
         f"%a = arith.cmpi slt, %t, {size} : index",
         'cf.assert %a, "index must be smaller than dim size"',
         f"%b = arith.cmpi sge, %i0, {zero} : i64",
         'cf.assert %b, "index must be larger or equal to 0"', *read, "%p"],
        captured=[table])


def positions(graph, count):
    """[0, 1, ..., count - 1]"""
    node = graph.node("arange")
    return graph.generic(
        node, 1, [], [(graph.empty((count,), "i64", node), [0])],
        ["%n = linalg.index 0 : index", "%p = arith.index_cast %n : index to i64", "%p"])


def one_hot(indices, classes):
    """[..., classes], i1"""
    numbers = positions(indices.graph, classes)
    return op.elementwise(
        "eq", [op.reshape(indices, indices.shape + (1,)), numbers],
        ["%p = arith.cmpi eq, %i0, %i1 : i64", "%p"], element="i1")


def embedding(table, indices):
    """The rows of `table`; its gradient is a product with the one-hot indices."""
    rows, width = table.shape
    y = lookup("embedding", table, 0, indices, indices.shape + (width,), [
        f"%c = linalg.index {len(indices.shape)} : index",
        f"%p = tensor.extract {table.name}[%t, %c] : {table.type}"])

    def vjp(g):
        count = math.prod(indices.shape)
        hits = one_hot(op.reshape(indices, (count,)), rows)
        hits = op.elementwise("convert_element_type", [hits], [
            "%p = arith.uitofp %i0 : i1 to {t}", "%p"], element=table.element)
        return [op.matmul(op.transpose(hits, [1, 0]), op.reshape(g, (count, width)))]

    return op.record(y, [table], vjp)


def rms_norm(x, weight, epsilon):
    """Statistics in the wide type, as in Hugging Face's Llama."""
    wide = op.cast(x, x.graph.wide)
    variance = op.mean(op.power(wide, 2), -1)
    scaled = op.multiply(wide, op.rsqrt(op.add_number(variance, epsilon)))
    return op.multiply(op.cast(scaled, x.element), weight)


def layer_norm(x, weight, bias, epsilon):
    """Statistics in the wide type; the gradient in native_layer_norm_backward's form."""
    element, size, last = x.element, x.shape[-1], len(x.shape) - 1
    wide = op.cast(x, x.graph.wide)
    # One op to the tape, of the cast value.
    centered = _subtract(wide, _mean(wide))
    inverse = op.unary("math.rsqrt", "rsqrt", op.with_number(
        "arith.addf", "add", _mean(op.binary("arith.mulf", "mul", centered, centered)),
        epsilon))
    normal = op.binary("arith.mulf", "mul", centered, inverse)

    def vjp(g):
        along = op.sum_of(g, [last])
        across = op.multiply(normal, op.sum_of(op.multiply(g, normal), [last]))
        inner = op.subtract(op.subtract(op.scale(g, float(size)), along), across)
        return [op.multiply(op.divide_by(inverse, float(size)), inner)]

    op.record(normal, [wide], vjp)
    return op.add(op.multiply(op.cast(normal, element), weight), bias)


def _mean(x):
    total = op.sum_of(x, [len(x.shape) - 1], x.graph.node("mean"))
    return op.with_number("arith.divf", "mean", total, float(x.shape[-1]),
                          node=total.node)


def _subtract(a, b, node=None):
    return op.binary("arith.subf", "sub", a, b, node)


def silu(x):
    return op.multiply(x, op.sigmoid(x))


def gelu(x):
    return op.multiply(op.scale(x, 0.5), op.add_number(
        op.erf(op.scale(x, math.sqrt(0.5))), 1.0))


def gelu_tanh(x):
    inner = op.scale(op.add(x, op.scale(op.power(x, 3), 0.044715)),
                     math.sqrt(2.0 / math.pi))
    return op.multiply(op.scale(x, 0.5), op.add_number(op.tanh(inner), 1.0))


# Attention.

def maximum(x, node):
    """Over the last dimension, which stays with size 1: a reduction that finds where
    the maximum is as well, which nothing reads."""
    graph, rank = x.graph, len(x.shape)
    rows = x.shape[:-1]
    where = graph.fill(0, rows, "i64", node)
    lowest = graph.fill(float("-inf"), rows, x.element, node)
    top, _ = graph.generic(
        node, rank, [(x, range(rank))],
        [(lowest, range(rank - 1)), (where, range(rank - 1))],
        [f"%d = linalg.index {rank - 1} : index",
         "%n = arith.index_cast %d : index to i64",
         f"%m = arith.maximumf %i0, %o0 : {x.element}",
         f"%g = arith.cmpf ogt, %i0, %o0 : {x.element}",
         "%a = arith.select %g, %n, %o1 : i64", "%m, %a"], reductions=[rank - 1])
    return op.reshape(top, rows + (1,), node)


def softmax(x):
    graph, last = x.graph, len(x.shape) - 1
    node = graph.node("_softmax")
    powers = op.unary("math.exp", "exp", _subtract(x, maximum(x, node), node), node)
    y = op.binary("arith.divf", "div", powers, op.sum_of(powers, [last], node), node)

    def vjp(g):
        weighted = op.multiply(g, y)
        return [op.subtract(weighted, op.multiply(y, op.sum_of(weighted, [last])))]

    return op.record(y, [x], vjp)


def masked(x, mask, number):
    """`number` where the mask holds."""
    constant = x.graph.constant(number, x.element)
    y = op.elementwise("where", [mask, x],
                       [f"%p = arith.select %i0, {constant}, %i1 : {{t}}", "%p"],
                       element=x.element)
    return op.record(y, [mask, x], lambda g: [None, masked(g, mask, 0.0)])


def causal_mask(graph, size):
    """[size, size], holds where a key comes after the query."""
    numbers = positions(graph, size)
    return op.elementwise(
        "gt", [op.reshape(numbers, (1, size)), op.reshape(numbers, (size, 1))],
        ["%p = arith.cmpi sgt, %i0, %i1 : i64", "%p"], element="i1")


def guarded(weights, scores):
    """scaled_dot_product_attention gives 0 for queries that see no key."""
    graph, rank = scores.graph, len(scores.shape)
    lowest = graph.constant(float("-inf"), scores.element)
    unseen = op.elementwise("eq", [scores], [
        f"%p = arith.cmpf oeq, %i0, {lowest} : {scores.element}", "%p"], element="i1")
    node = graph.node("all")
    none = graph.generic(
        node, rank, [(unseen, range(rank))],
        [(graph.fill(True, scores.shape[:-1] + (1,), "i1", node),
          [*range(rank - 1), None])],
        ["%p = arith.andi %i0, %o0 : i1", "%p"], reductions=[rank - 1])
    return masked(weights, none, 0.0)


def heads(x, count):
    """[batch, sequence, count * size] to [batch, count, sequence, size]"""
    batch, sequence, width = x.shape
    return op.transpose(op.reshape(x, (batch, sequence, count, width // count)),
                        [0, 2, 1, 3])


def repeated_heads(x, count):
    """Every key/value head for all the query heads that share it."""
    batch, kv, sequence, size = x.shape
    if kv == count:
        return x
    wide = op.expand(op.reshape(x, (batch, kv, 1, sequence, size)),
                     (batch, kv, count // kv, sequence, size))
    return op.reshape(wide, (batch, count, sequence, size))


def attention(q, k, v, mask=None, isFused=False):
    """q: [batch, heads, sequence, size]; fewer key/value heads are repeated. Written out
    as models do, or in the form that scaled_dot_product_attention decomposes into."""
    element, graph = q.element, q.graph
    batch, count, sequence, size = q.shape
    k, v = repeated_heads(k, count), repeated_heads(v, count)
    q, k, v = (op.cast(x, graph.wide) for x in (q, k, v))
    k = op.transpose(k, [0, 1, 3, 2])
    if isFused:
        root = 1.0 / math.sqrt(math.sqrt(size))
        q, k = op.scale(q, root), op.scale(k, root)
    flat = batch * count
    scores = op.batch_matmul(op.reshape(q, (flat, sequence, size)),
                             op.reshape(k, (flat, size, sequence)))
    scores = op.reshape(scores, (batch, count, sequence, sequence))
    if not isFused:
        scores = op.divide_by(scores, math.sqrt(size))
        weights = softmax(scores if mask is None else
                          masked(scores, mask, float("-inf")))
    elif mask is None:
        weights = guarded(softmax(scores), scores)
    else:
        zeros = graph.fill(0.0, mask.shape, graph.wide, graph.node("zeros"))
        scores = op.add(scores, masked(zeros, mask, float("-inf")))
        weights = guarded(softmax(scores), scores)
    y = op.batch_matmul(op.reshape(weights, (flat, sequence, sequence)),
                        op.reshape(v, (flat, sequence, size)))
    y = op.cast(op.reshape(y, (batch, count, sequence, size)), element)
    return op.reshape(op.transpose(y, [0, 2, 1, 3]), (batch, sequence, count * size))


# Loss.

def cross_entropy(logits, labels):
    """The mean over all rows, as torch decomposes cross_entropy; labels of -100 are left
    out. The gradient is scattered as a comparison with the class numbers."""
    graph = logits.graph
    with graph.inside(LOSS):
        classes = logits.shape[-1]
        rows = math.prod(logits.shape[:-1])
        x = op.cast(op.reshape(logits, (rows, classes)), graph.wide)
        chosen, counts = _chosen(op.reshape(labels, (rows, 1)))
        node = graph.node("amax")
        less = _subtract(x, maximum(x, node))
        powers = op.unary("math.exp", "exp", less)
        log_sum = op.unary("math.log", "log", op.sum_of(powers, [1]))
        log_softmax = _subtract(less, log_sum)
        picked = lookup("gather", log_softmax, 1, chosen, (rows, 1), [
            "%c = linalg.index 0 : index",
            f"%p = tensor.extract {log_softmax.name}[%c, %t] : {log_softmax.type}"])
        losses = op.elementwise(
            "where", [counts, op.unary("arith.negf", "neg", picked)],
            [f"%p = arith.select %i0, %i1, {graph.constant(0.0, graph.wide)} : {{t}}",
             "%p"], element=graph.wide)
        count = _scalar_sum(counts, "i1", [
            "%n = arith.uitofp %i0 : i1 to {t}", "%p = arith.addf %n, %o0 : {t}", "%p"])
        total = _scalar_sum(losses, graph.wide, [
            "%p = arith.addf %i0, %o0 : {t}", "%p"])
        loss = op.binary("arith.divf", "div", total, count)

        def vjp(g):
            each = op.binary("arith.divf", "div", g, count)
            zero = graph.constant(0.0, graph.wide)
            each = op.elementwise("where", [counts, each], [
                f"%p = arith.select %i0, %i1, {zero} : {{t}}", "%p"],
                element=graph.wide)
            hits = op.elementwise(
                "where", [one_hot(op.reshape(chosen, (rows,)), classes)],
                [f"%p = arith.select %i0, {graph.constant(-1.0, graph.wide)}, {zero} : "
                 "{t}", "%p"], element=graph.wide)
            hits = op.multiply(hits, each)
            share = op.exp(log_softmax)
            return [op.subtract(hits, op.multiply(share, op.sum_of(hits, [1])))]

        return op.record(loss, [x], vjp)


def _chosen(labels):
    """Labels that can be looked up, and which of them count."""
    graph = labels.graph
    ignored, zero = graph.constant(-100, "i64"), graph.constant(0, "i64")
    counts = op.elementwise("ne", [labels], [
        f"%p = arith.cmpi ne, %i0, {ignored} : i64", "%p"], element="i1")
    chosen = op.elementwise("where", [counts, labels], [
        f"%p = arith.select %i0, %i1, {zero} : i64", "%p"], element="i64")
    return chosen, counts


def _scalar_sum(x, element, body):
    graph, node = x.graph, x.graph.node("sum")
    wide, rank = graph.wide, len(x.shape)
    return graph.generic(
        node, rank, [(x, range(rank))], [(graph.fill(0.0, (), wide, node), [])],
        [line.replace("{t}", wide) for line in body], reductions=range(rank))
