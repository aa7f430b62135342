"""Every named op of linalg at least once; shapes differ pairwise, and what a rule may
split is a multiple of 6, so that 2 and 3 ranks divide it.

    linalg_named_ops.py .../LinalgStructuredOps.h.inc

prints a function per op, and lines that are no MLIR for ops of the header that are
not here.
"""

import re
import sys
from collections import namedtuple

# `inputs` and `inits` are (shape, element) pairs, `scalars` are typed constants that
# stand after the inputs. `text` is the op with %0, %1, .. for inputs, %s0, .. for
# scalars and %o0, .. for inits.
NamedOp = namedtuple("NamedOp", "name inputs scalars inits text positive")


def type_of(shape, element):
    return "tensor<" + "".join(f"{n}x" for n in shape) + element + ">"


def named(name, inputs, init, scalars=(), attributes="", positive=False, label=None):
    operands = [(f"%{i}", type_of(*value)) for i, value in enumerate(inputs)]
    operands += [(f"%s{i}", kind) for i, (_, kind) in enumerate(scalars)]
    ins = ""
    if operands:
        ins = " ins({} : {})".format(", ".join(o[0] for o in operands),
                                     ", ".join(o[1] for o in operands))
    text = f"linalg.{name}{attributes}{ins} outs(%o0 : {type_of(*init)}) -> {type_of(*init)}"
    return NamedOp(label or name, inputs, scalars, [init], text, positive)


def window(name, image, kernel, result, strides=None, dilations=None, scalars=(),
           elements=("f32", "f32", "f32")):
    attributes = ""
    if strides:
        n = len(strides)
        attributes = (f" {{strides = dense<{list(strides)}> : tensor<{n}xi64>, "
                      f"dilations = dense<{list(dilations)}> : tensor<{n}xi64>}}")
    return named(name, [(image, elements[0]), (kernel, elements[1])],
                 (result, elements[2]), scalars, attributes)


ZERO_POINTS = [("1", "i32"), ("-2", "i32")]
QUANTIZED = ("i8", "i8", "i32")
UNSIGNED = ("i32", "i32", "i32")


def elementwise_ops():
    x, y = (6, 12), (6, 12)
    for name in ("exp", "log", "abs", "ceil", "floor", "negf", "reciprocal", "round",
                 "sqrt", "rsqrt", "square", "tanh", "erf"):
        positive = name in ("log", "reciprocal", "sqrt", "rsqrt")
        yield named(name, [(x, "f32")], (x, "f32"), positive=positive)
    for name in ("add", "sub", "mul", "div", "max", "min", "powf"):
        yield named(name, [(x, "f32"), (y, "f32")], (x, "f32"),
                    positive=name in ("div", "powf"))
    yield named("div_unsigned", [(x, "i32"), (y, "i32")], (x, "i32"), positive=True)
    yield named("select", [(x, "i1"), (x, "f32"), (y, "f32")], (x, "f32"))
    yield named("copy", [(x, "f32")], (x, "f32"))
    yield named("copy", [(x, "f32")], (x, "f64"), label="copy with a cast")
    for kind, count in (("exp", 1), ("mul", 2)):
        yield named("elementwise", [(x, "f32")] * count, (x, "f32"),
                    attributes=f" kind=#linalg.elementwise_kind<{kind}>",
                    label=f"elementwise {kind}")
    maps = ("indexing_maps=[affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j, i)>, "
            "affine_map<(i, j) -> (i, j)>]")
    yield named("elementwise", [((12,), "f32"), ((12, 6), "f32")], (x, "f32"),
                attributes=f" kind=#linalg.elementwise_kind<add> {maps}",
                label="elementwise with maps")
    f32 = type_of(x, "f32")
    yield NamedOp("map", [(x, "f32"), (y, "f32")], [], [(x, "f32")],
                  f"linalg.map {{ arith.subf }} ins(%0, %1 : {f32}, {f32}) outs(%o0 : {f32})",
                  False)
    yield NamedOp("broadcast", [((12,), "f32")], [], [((6, 12, 18), "f32")],
                  "linalg.broadcast ins(%0 : tensor<12xf32>) outs(%o0 : tensor<6x12x18xf32>) "
                  "dimensions = [0, 2]", False)
    yield NamedOp("transpose", [((6, 12, 18), "f32")], [], [((12, 18, 6), "f32")],
                  "linalg.transpose ins(%0 : tensor<6x12x18xf32>) "
                  "outs(%o0 : tensor<12x18x6xf32>) permutation = [1, 2, 0]", False)
    yield NamedOp("reduce", [((6, 12, 18), "f32")], [], [((6, 18), "f32")],
                  "linalg.reduce { arith.addf } ins(%0 : tensor<6x12x18xf32>) "
                  "outs(%o0 : tensor<6x18xf32>) dimensions = [1]", False)
    yield NamedOp("reduce max", [((6, 12, 18), "f32")], [], [((12, 18), "f32")],
                  "linalg.reduce { arith.maximumf } ins(%0 : tensor<6x12x18xf32>) "
                  "outs(%o0 : tensor<12x18xf32>) dimensions = [0]", False)
    yield named("fill", [], ((6, 12), "f32"), [("2.5", "f32")])
    yield named("fill_rng_2d", [], ((6, 12), "f32"),
                [("-4.0", "f64"), ("4.0", "f64"), ("42", "i32")])


def contractions():
    f = "f32"
    yield named("matmul", [((6, 12), f), ((12, 18), f)], ((6, 18), f))
    yield named("matmul", [((12, 6), f), ((12, 18), f)], ((6, 18), f),
                attributes=" indexing_maps = [affine_map<(m, n, k) -> (k, m)>, "
                           "affine_map<(m, n, k) -> (k, n)>, affine_map<(m, n, k) -> (m, n)>]",
                label="matmul transposed")
    yield named("matmul", [((6, 12), "i8"), ((12, 18), "i8")], ((6, 18), "i32"),
                label="matmul of i8")
    yield named("matmul", [((6, 12), "bf16"), ((12, 18), "bf16")], ((6, 18), f),
                label="matmul of bf16")
    yield named("batch_matmul", [((24, 6, 12), f), ((24, 12, 18), f)], ((24, 6, 18), f))
    yield named("batch_reduce_matmul", [((24, 6, 12), f), ((24, 12, 18), f)], ((6, 18), f))
    yield named("matvec", [((6, 12), f), ((12,), f)], ((6,), f))
    yield named("vecmat", [((12,), f), ((12, 6), f)], ((6,), f))
    yield named("batch_matvec", [((24, 6, 12), f), ((24, 12), f)], ((24, 6), f))
    yield named("batch_vecmat", [((24, 12), f), ((24, 12, 6), f)], ((24, 6), f))
    yield named("dot", [((12,), f), ((12,), f)], ((), f))
    yield named("mmt4d", [((6, 12, 2, 3), f), ((18, 12, 4, 3), f)], ((6, 18, 2, 4), f))
    yield named("batch_mmt4d", [((24, 6, 12, 2, 3), f), ((24, 18, 12, 4, 3), f)],
                ((24, 6, 18, 2, 4), f))
    maps = ("indexing_maps = [affine_map<(b, m, n, k) -> (m, b, k)>, "
            "affine_map<(b, m, n, k) -> (k, n)>, affine_map<(b, m, n, k) -> (b, n, m)>]")
    yield named("contract", [((6, 24, 12), f), ((12, 18), f)], ((24, 18, 6), f),
                attributes=" " + maps)
    yield named("quantized_matmul", [((6, 12), "i8"), ((12, 18), "i8")], ((6, 18), "i32"),
                ZERO_POINTS)
    yield named("quantized_batch_matmul", [((24, 6, 12), "i8"), ((24, 12, 18), "i8")],
                ((24, 6, 18), "i32"), ZERO_POINTS)


def convolutions():
    yield window("conv_1d", (14,), (3,), (12,))
    yield window("conv_2d", (14, 9), (3, 4), (12, 6))
    yield window("conv_3d", (14, 9, 7), (3, 4, 2), (12, 6, 6))
    one, two, three = ((2,), (3,)), ((2, 1), (1, 2)), ((1, 2, 1), (2, 1, 1))
    # Image sizes are stride * (out - 1) + dilation * (kernel - 1) + 1.
    yield window("conv_1d_nwc_wcf", (6, 13, 12), (3, 12, 18), (6, 4, 18), *one)
    yield window("conv_1d_ncw_fcw", (6, 12, 13), (18, 12, 3), (6, 18, 4), *one)
    image, kernel, result = (9, 8), (3, 2), (4, 6)
    for name, order in (("conv_2d_nhwc_hwcf", "kcf"), ("conv_2d_nhwc_fhwc", "fkc"),
                        ("conv_2d_nhwc_hwcf_q", "kcf"), ("conv_2d_nhwc_fhwc_q", "fkc")):
        shape = {"kcf": (*kernel, 12, 18), "fkc": (18, *kernel, 12)}[order]
        quantized = name.endswith("_q")
        yield window(name, (6, *image, 12), shape, (6, *result, 18), *two,
                     scalars=ZERO_POINTS if quantized else (),
                     elements=QUANTIZED if quantized else ("f32",) * 3)
    for name in ("conv_2d_nchw_fchw", "conv_2d_nchw_fchw_q"):
        quantized = name.endswith("_q")
        yield window(name, (6, 12, *image), (18, 12, *kernel), (6, 18, *result), *two,
                     scalars=ZERO_POINTS if quantized else (),
                     elements=QUANTIZED if quantized else ("f32",) * 3)
    yield window("conv_2d_ngchw_fgchw", (6, 12, 6, *image), (18, 12, 6, *kernel),
                 (6, 12, 18, *result), *two)
    for name in ("conv_2d_ngchw_gfchw", "conv_2d_ngchw_gfchw_q"):
        quantized = name.endswith("_q")
        yield window(name, (6, 12, 6, *image), (12, 18, 6, *kernel), (6, 12, 18, *result),
                     *two, scalars=ZERO_POINTS if quantized else (),
                     elements=QUANTIZED if quantized else ("f32",) * 3)
    for name in ("conv_2d_nhwgc_gfhwc", "conv_2d_nhwgc_gfhwc_q"):
        quantized = name.endswith("_q")
        yield window(name, (6, *image, 12, 6), (12, 18, *kernel, 6), (6, *result, 12, 18),
                     *two, scalars=ZERO_POINTS if quantized else (),
                     elements=QUANTIZED if quantized else ("f32",) * 3)
    image, kernel, result = (4, 5, 3), (2, 2, 1), (2, 2, 3)
    yield window("conv_3d_ndhwc_dhwcf", (6, *image, 12), (*kernel, 12, 18),
                 (6, *result, 18), *three)
    yield window("conv_3d_ndhwc_dhwcf_q", (6, *image, 12), (*kernel, 12, 18),
                 (6, *result, 18), *three, scalars=ZERO_POINTS, elements=QUANTIZED)
    yield window("conv_3d_ncdhw_fcdhw", (6, 12, *image), (18, 12, *kernel),
                 (6, 18, *result), *three)
    yield window("depthwise_conv_1d_nwc_wc", (6, 13, 12), (3, 12), (6, 4, 12), *one)
    yield window("depthwise_conv_1d_ncw_cw", (6, 12, 13), (12, 3), (6, 12, 4), *one)
    yield window("depthwise_conv_1d_nwc_wcm", (6, 13, 12), (3, 12, 18), (6, 4, 12, 18), *one)
    flat, spot, out = (9, 8), (3, 2), (4, 6)
    yield window("depthwise_conv_2d_nhwc_hwc", (6, *flat, 12), (*spot, 12), (6, *out, 12),
                 *two)
    yield window("depthwise_conv_2d_nchw_chw", (6, 12, *flat), (12, *spot), (6, 12, *out),
                 *two)
    yield window("depthwise_conv_2d_nhwc_hwc_q", (6, *flat, 12), (*spot, 12),
                 (6, *out, 12), *two, scalars=ZERO_POINTS, elements=QUANTIZED)
    yield window("depthwise_conv_2d_nhwc_hwcm", (6, *flat, 12), (*spot, 12, 18),
                 (6, *out, 12, 18), *two)
    yield window("depthwise_conv_2d_nhwc_hwcm_q", (6, *flat, 12), (*spot, 12, 18),
                 (6, *out, 12, 18), *two, scalars=ZERO_POINTS, elements=QUANTIZED)
    yield window("depthwise_conv_3d_ndhwc_dhwc", (6, *image, 12), (*kernel, 12),
                 (6, *result, 12), *three)
    yield window("depthwise_conv_3d_ncdhw_cdhw", (6, 12, *image), (12, *kernel),
                 (6, 12, *result), *three)
    yield window("depthwise_conv_3d_ndhwc_dhwcm", (6, *image, 12), (*kernel, 12, 18),
                 (6, *result, 12, 18), *three)


def poolings():
    one, two, three = ((2,), (3,)), ((2, 1), (1, 2)), ((1, 2, 1), (2, 1, 1))
    for kind in ("sum", "max", "min", "max_unsigned", "min_unsigned"):
        elements = UNSIGNED if kind.endswith("unsigned") else ("f32",) * 3
        yield window(f"pooling_nwc_{kind}", (6, 13, 12), (3,), (6, 4, 12), *one,
                     elements=elements)
        yield window(f"pooling_nhwc_{kind}", (6, 9, 8, 12), (3, 2), (6, 4, 6, 12), *two,
                     elements=elements)
    for kind in ("sum", "max"):
        yield window(f"pooling_ncw_{kind}", (6, 12, 13), (3,), (6, 12, 4), *one)
        yield window(f"pooling_nchw_{kind}", (6, 12, 9, 8), (3, 2), (6, 12, 4, 6), *two)
    for kind in ("sum", "max", "min"):
        yield window(f"pooling_ndhwc_{kind}", (6, 4, 5, 3, 12), (2, 2, 1), (6, 2, 2, 3, 12),
                     *three)


def aggregates():
    """Ops that are no loop nests."""
    for dimension in (0, 1):
        yield NamedOp(f"softmax over {dimension}", [((6, 12), "f32")], [], [((6, 12), "f32")],
                      f"linalg.softmax dimension({dimension}) ins(%0 : tensor<6x12xf32>) "
                      "outs(%o0 : tensor<6x12xf32>) -> tensor<6x12xf32>", False)
    yield NamedOp("pack", [((12, 30), "f32")], [], [((6, 3, 4, 5), "f32")],
                  "linalg.pack %0 outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] "
                  "inner_tiles = [4, 5] into %o0 : tensor<12x30xf32> -> tensor<6x3x4x5xf32>",
                  False)
    yield NamedOp("pack with padding", [((11, 28), "f32")], [("2.5", "f32")],
                  [((3, 6, 5, 4), "f32")],
                  "linalg.pack %0 padding_value(%s0 : f32) inner_dims_pos = [1, 0] "
                  "inner_tiles = [5, 4] into %o0 : tensor<11x28xf32> -> tensor<3x6x5x4xf32>",
                  False)
    yield NamedOp("unpack", [((6, 3, 4, 5), "f32")], [], [((11, 28), "f32")],
                  "linalg.unpack %0 outer_dims_perm = [1, 0] inner_dims_pos = [0, 1] "
                  "inner_tiles = [4, 5] into %o0 : tensor<6x3x4x5xf32> -> tensor<11x28xf32>",
                  False)


def all_ops():
    return [*elementwise_ops(), *contractions(), *convolutions(), *poolings()]


def covered_names():
    return {"linalg." + re.match(r"linalg\.(\w+)", op.text).group(1) for op in all_ops()}


def names_in(header):
    """The ops that the installed LLVM declares."""
    with open(header) as file:
        return set(re.findall(r'"(linalg\.\w+)"', file.read()))


def functions():
    """Every op in a function of its own, operands as arguments."""
    for i, op in enumerate(all_ops()):
        arguments = [f"%{k}: {type_of(*value)}" for k, value in enumerate(op.inputs)]
        arguments += [f"%o{k}: {type_of(*value)}" for k, value in enumerate(op.inits)]
        yield f"func.func @op{i}({', '.join(arguments)}) {{"
        for k, (value, kind) in enumerate(op.scalars):
            yield f"  %s{k} = arith.constant {value} : {kind}"
        yield f"  %r = {op.text} loc(\"{op.name}\")\n  return\n}}"


if __name__ == "__main__":
    print("\n".join(functions()))
    for name in sorted(names_in(sys.argv[1]) - covered_names() - {"linalg.generic"}):
        print(f"missing: {name}")
