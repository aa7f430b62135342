"""Convolutions and pooling."""

from values import product_of, sum_of


def window(p, size):
    """(kernel, stride, dilation, outputs) along a dimension of this size, which
    is at least 1."""
    kernel = p.rng.randint(1, min(3, size))
    dilation = p.rng.choice([1, 1, 2]) if 2 * (kernel - 1) + 1 <= size else 1
    stride = p.rng.choice([1, 1, 2])
    return kernel, stride, dilation, (size - (kernel - 1) * dilation - 1) // stride + 1


def emit_window(p, op, a, b, shape, terms, exactness, has_options, strides, dilations):
    init = p.init(shape, a.element, True)
    bound, error = exactness(init)
    options = "" if not has_options else (
        f" {{strides = dense<{strides}> : tensor<{len(strides)}xi64>, "
        f"dilations = dense<{dilations}> : tensor<{len(dilations)}xi64>}}")
    p.emit(f"linalg.{op}{options} ins({a.name}, {b.name} : {a.type}, {b.type}) "
           f"outs({init.name} : {init.type}) -> {init.type}", shape, a.element, bound, error)


# (op, order of the input, of the filter, of the result); n batch, c channels,
# f filters, m multiplier of a depthwise one, then the spatial dimensions.
CONVOLUTIONS = [
    ("conv_1d", "w", "w", "w"), ("conv_2d", "hw", "hw", "hw"),
    ("conv_1d_nwc_wcf", "nwc", "wcf", "nwf"), ("conv_1d_ncw_fcw", "ncw", "fcw", "nfw"),
    ("conv_2d_nhwc_hwcf", "nhwc", "hwcf", "nhwf"),
    ("conv_2d_nchw_fchw", "nchw", "fchw", "nfhw"),
    ("conv_2d_nhwc_fhwc", "nhwc", "fhwc", "nhwf"),
    ("conv_3d", "dhw", "dhw", "dhw"),
    ("conv_3d_ndhwc_dhwcf", "ndhwc", "dhwcf", "ndhwf"),
    ("conv_3d_ncdhw_fcdhw", "ncdhw", "fcdhw", "nfdhw"),
    ("depthwise_conv_1d_nwc_wc", "nwc", "wc", "nwc"),
    ("depthwise_conv_2d_nhwc_hwc", "nhwc", "hwc", "nhwc"),
    ("depthwise_conv_2d_nchw_chw", "nchw", "chw", "nchw"),
    ("depthwise_conv_2d_nhwc_hwcm", "nhwc", "hwcm", "nhwcm"),
]
POOLS = [(f"pooling_{order}_{kind}", order) for order in
         ("nhwc", "nchw", "nwc", "ncw", "ndhwc")
         for kind in ("sum", "max", "min") if (order, kind) not in
         (("nchw", "min"), ("ncw", "min"))]


def convolution(p):
    op, order, filters, out = p.rng.choice(CONVOLUTIONS)
    a = p.pick(lambda v: v.rank == len(order) and v.element not in ("i1", "index") and
               all(n > 0 for n in v.shape))
    if not a:
        return
    sizes = dict(zip(order, a.shape))
    kernel, result, strides, dilations, terms = dict(sizes), dict(sizes), [], [], 1
    for d in order:
        if d in "dwh":
            kernel[d], stride, dilation, result[d] = window(p, sizes[d])
            if order == filters:
                stride = dilation = 1
                result[d] = sizes[d] - kernel[d] + 1
            strides.append(stride)
            dilations.append(dilation)
            terms *= kernel[d]
    kernel["f"] = result["f"] = p.rng.choice([n for n in p.sizes if n] or [2])
    kernel["m"] = result["m"] = p.rng.randint(1, 3)
    if "f" in filters:
        terms *= sizes["c"]
    shape = [kernel[d] for d in filters]
    b = p.pick(lambda v: list(v.shape) == shape and v.element == a.element) or \
        p.constant(shape, a.element)

    def exactness(init):
        if not a.is_float:
            return 1, 0.0
        return sum_of(a.element, terms, *product_of(
            a.element, (a.bound, a.error), (b.bound, b.error)), init.bound, init.error)
    emit_window(p, op, a, b, [result[d] for d in out], terms, exactness, order != filters,
                strides, dilations)


def pooling(p):
    op, order = p.rng.choice(POOLS)
    a = p.pick(lambda v: v.rank == len(order) and v.element not in ("i1", "index") and
               all(n > 0 for n in v.shape))
    if not a:
        return
    shape, kernel, strides, dilations, terms = [], [], [], [], 1
    for d, n in zip(order, a.shape):
        if d in "dwh":
            size, stride, dilation, n = window(p, n)
            kernel.append(size)
            strides.append(stride)
            dilations.append(dilation)
            terms *= size
        shape.append(n)
    b = p.empty(kernel, a.element)

    def exactness(init):
        if op.endswith("sum"):
            return sum_of(a.element, terms, a.bound, a.error, init.bound, init.error)
        return max(a.bound, init.bound), max(a.error, init.error)
    emit_window(p, op, a, b, shape, terms, exactness, True, strides, dilations)


OPS = [(0.5, convolution), (0.3, pooling)]
