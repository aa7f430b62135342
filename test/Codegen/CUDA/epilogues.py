#!/usr/bin/env python3
"""Compiles programs of a product and what follows it, and checks what the manifest
says: which products there are, with which epilogues, and how many kernels.

  epilogues.py TP_OPT FILE

FILE is where the programs are written. Prints what differs and `N of N programs as
expected`; exits non-zero unless all are.
"""
import argparse
import json
import subprocess
import sys

M, N, K = 4, 6, 8
MAPS = """\
#mk = affine_map<(m, n, k) -> (m, k)>
#kn = affine_map<(m, n, k) -> (k, n)>
#mn = affine_map<(m, n, k) -> (m, n)>
#id = affine_map<(m, n) -> (m, n)>
#row = affine_map<(m, n) -> (n)>
#column = affine_map<(m, n) -> (m)>
#swapped = affine_map<(m, n) -> (n, m)>
"""


class Program:
    """Text of a function whose first arguments are %a and %b, of `dtype`."""

    def __init__(self, name, dtype="f32", batch=""):
        self.name, self.dtype = name, dtype
        self.sums = "f64" if dtype == "f64" else "f32"
        shapes = f"{batch}{M}x{K}x{dtype}", f"{batch}{K}x{N}x{dtype}"
        self.arguments = [f'%a: tensor<{shapes[0]}> {{tp.name = "{name}"}}',
                          f"%b: tensor<{shapes[1]}>"]
        self.attributes, self.lines, self.count = "", [], 0

    def argument(self, name, kind):
        self.arguments.append(f"%{name}: {kind}")
        return f"%{name}"

    def line(self, text, result=True):
        self.count += result
        self.lines.append(f"  %v{self.count} = {text}" if result else "  " + text)
        return f"%v{self.count}"

    def constant(self, value, dtype):
        return self.line(f"arith.constant {value} : {dtype}")

    def zeros(self, shape, dtype):
        empty = self.line(f"tensor.empty() : tensor<{shape}x{dtype}>")
        zero = self.constant("0.0", dtype)
        return self.line(f"linalg.fill ins({zero} : {dtype}) outs({empty} : "
                         f"tensor<{shape}x{dtype}>) -> tensor<{shape}x{dtype}>")

    def product(self, a="%a", b="%b", init=None):
        """m x n sums, of narrow operands in f32."""
        init = init or self.zeros(f"{M}x{N}", self.sums)
        dtype, sums = self.dtype, self.sums
        widen = "" if dtype == sums else (
            f"%u = arith.extf %x : {dtype} to {sums}\n"
            f"    %w = arith.extf %y : {dtype} to {sums}\n    ")
        factors = "%x, %y" if dtype == sums else "%u, %w"
        return self.line(f"""linalg.generic {{indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins({a}, {b} : tensor<{M}x{K}x{dtype}>, tensor<{K}x{N}x{dtype}>) outs({init} : tensor<{M}x{N}x{sums}>) {{
  ^bb0(%x: {dtype}, %y: {dtype}, %sum: {sums}):
    {widen}%p = arith.mulf {factors} : {sums}
    %s = arith.addf %sum, %p : {sums}
    linalg.yield %s : {sums}
  }} -> tensor<{M}x{N}x{sums}>""")

    def each(self, op, operands, dtype, out=None, shape=f"{M}x{N}"):
        """An op element by element; operands are (value, map, type)."""
        out = out or dtype
        rank = shape.count("x") + 1
        loops = ", ".join(f"i{i}" for i in range(rank))
        own = "#id" if rank == 2 else f"affine_map<({loops}) -> ({loops})>"
        kinds = [kind or f"tensor<{shape}x{dtype}>" for _, _, kind in operands]
        maps = ", ".join([m or own for _, m, _ in operands] + [own])
        values = ", ".join(value for value, _, _ in operands)
        arguments = ", ".join(f"%x{i}: {dtype}" for i in range(len(operands)))
        empty = self.line(f"tensor.empty() : tensor<{shape}x{out}>")
        iterators = ", ".join(['"parallel"'] * rank)
        return self.line(f"""linalg.generic {{indexing_maps = [{maps}], iterator_types = [{iterators}]}}
      ins({values} : {', '.join(kinds)}) outs({empty} : tensor<{shape}x{out}>) {{
  ^bb0({arguments}, %out: {out}):
    %element = {op}
    linalg.yield %element : {out}
  }} -> tensor<{shape}x{out}>""")

    def unary(self, op, x, dtype="f32", out=None, shape=f"{M}x{N}"):
        return self.each(op, [(x, None, None)], dtype, out, shape)

    def add(self, x, y, dtype="f32", map=None, kind=None, flip=False):
        operands = "%x1, %x0" if flip else "%x0, %x1"
        return self.each(f"arith.addf {operands} : {dtype}",
                         [(x, None, None), (y, map, kind)], dtype)

    def add_vector(self, x, name="v", dtype="f32"):
        kind = f"tensor<{N}x{dtype}>"
        return self.add(x, self.argument(name, kind), dtype, "#row", kind)

    def add_matrix(self, x, name="r", dtype="f32", flip=False):
        matrix = self.argument(name, f"tensor<{M}x{N}x{dtype}>")
        return self.add(x, matrix, dtype, flip=flip)

    def round(self, x, to="bf16", shape=f"{M}x{N}"):
        return self.unary(f"arith.truncf %x0 : f32 to {to}", x, "f32", to, shape)

    def by_token(self, x):
        return self.line(f"tensor.expand_shape {x} [[0, 1], [2]] output_shape [2, 2, "
                         f"{N}] : tensor<{M}x{N}xf32> into tensor<2x2x{N}xf32>")

    def gelu(self, x, factor="0.044715", as_products=False):
        """Its tanh form, an op at a time; also the tanh in it."""
        three, c = self.constant("3", "i64"), self.constant(factor, "f32")
        root, one = self.constant("0.797884583", "f32"), self.constant("1.0", "f32")
        half = self.constant("0.5", "f32")
        if as_products:
            square = self.unary("arith.mulf %x0, %x0 : f32", x)
            cube = self.each("arith.mulf %x0, %x1 : f32",
                             [(x, None, None), (square, None, None)], "f32")
        else:
            cube = self.unary(f"math.fpowi %x0, {three} : f32, i64", x)
        inner = self.add(x, self.unary(f"arith.mulf %x0, {c} : f32", cube))
        tanh = self.unary("math.tanh %x0 : f32",
                          self.unary(f"arith.mulf %x0, {root} : f32", inner))
        sum = self.unary(f"arith.addf %x0, {one} : f32", tanh)
        halved = self.unary(f"arith.mulf %x0, {half} : f32", x)
        return self.each("arith.mulf %x0, %x1 : f32",
                         [(halved, None, None), (sum, None, None)], "f32"), tanh

    def text(self, *results):
        values = ", ".join(value for value, _ in results)
        kinds = ", ".join(f"tensor<{kind}>" for _, kind in results)
        body = "\n".join(self.lines)
        function = (f"func.func @main({', '.join(self.arguments)}) -> ({kinds}) {{\n"
                    f"{body}\n  return {values} : {kinds}\n}}\n")
        if self.attributes:
            function = f"module attributes {{{self.attributes}}} {{\n{function}}}\n"
        return MAPS + function


SUMS = f"{M}x{N}xf32"


def programs():
    """(text, products, number of kernels) by name."""
    cases = {}

    def case(program, results, products, kernels):
        results = [r if isinstance(r, tuple) else (r, SUMS) for r in results]
        cases[program.name] = (program.text(*results), products, kernels)

    plain = f"{M} x {N} x {K} f32"
    p = Program("a vector")
    case(p, [p.add_vector(p.product())], [plain + " + bias"], 0)
    p = Program("a vector and GELU")
    case(p, [p.gelu(p.add_vector(p.product()))[0]], [plain + " + bias, gelu_tanh"], 0)
    p = Program("GELU whose cube is two products")
    case(p, [p.gelu(p.product(), as_products=True)[0]], [plain + ", gelu_tanh"], 0)
    p = Program("a function that is nearly GELU")
    case(p, [p.gelu(p.product(), factor="0.0447")[0]], [plain], 1)
    p = Program("GELU whose tanh is used")
    case(p, list(p.gelu(p.product())), [plain], 1)
    p = Program("a matrix after GELU")
    case(p, [p.add_matrix(p.gelu(p.product())[0])], [plain + ", gelu_tanh"], 1)
    p = Program("a matrix and a vector")
    case(p, [p.add_vector(p.add_matrix(p.product(), flip=True))],
         [plain + " + residual + bias"], 0)
    p = Program("two matrices")
    case(p, [p.add_matrix(p.add_vector(p.add_matrix(p.product())), name="t")],
         [plain + " + residual + bias"], 1)
    p = Program("a matrix behind a reshape")
    tokens = f"tensor<2x2x{N}xf32>"
    y = p.each("arith.addf %x0, %x1 : f32", [(p.by_token(p.product()), None, None),
               (p.argument("r", tokens), None, None)], "f32", shape=f"2x2x{N}")
    case(p, [(y, f"2x2x{N}xf32")], [plain + " + residual"], 0)
    # Its rows would be products of their own.
    p = Program("a matrix that lies the other way round")
    kind = f"tensor<{N}x{M}xf32>"
    case(p, [p.add(p.product(), p.argument("r", kind), map="#swapped", kind=kind)],
         [plain], 1)
    p = Program("a vector along the columns")
    kind = f"tensor<{M}xf32>"
    case(p, [p.add(p.product(), p.argument("v", kind), map="#column", kind=kind)],
         [plain], 1)
    p = Program("sums that are a result too")
    sums = p.product()
    case(p, [p.add_vector(sums), sums], [plain], 1)
    p = Program("sums that a function reads too")
    sums = p.product()
    case(p, [p.unary("math.tanh %x0 : f32", sums), p.add_vector(sums)], [plain], 2)
    p = Program("twice the sum")
    case(p, [p.unary("arith.addf %x0, %x0 : f32", p.product())], [plain], 1)
    # The first one waits for the second.
    p = Program("the sum of two products")
    sums = p.product()
    other = p.product(a=p.argument("c", f"tensor<{M}x{K}xf32>"))
    case(p, [p.add(sums, other)], [plain, plain + " + residual"], 0)
    p = Program("a matrix to begin with")
    case(p, [p.product(init=p.argument("r", f"tensor<{SUMS}>"))],
         [plain + " + residual"], 0)
    p = Program("a vector to begin with")
    vector, empty = p.argument("v", f"tensor<{N}xf32>"), p.line(f"tensor.empty() : tensor<{SUMS}>")
    rows = p.line(f"linalg.broadcast ins({vector} : tensor<{N}xf32>) "
                  f"outs({empty} : tensor<{SUMS}>) dimensions = [0]")
    case(p, [p.product(init=rows)], [plain + " + bias"], 0)
    p = Program("a matrix for all of a batch", batch="3x")
    zeros = p.zeros(f"3x{M}x{N}", "f32")
    batch = [f"tensor<3x{shape}xf32>" for shape in (f"{M}x{K}", f"{K}x{N}", f"{M}x{N}")]
    sums = p.line(f"linalg.batch_matmul ins(%a, %b : {batch[0]}, {batch[1]}) "
                  f"outs({zeros} : {batch[2]}) -> {batch[2]}")
    matrix = p.argument("r", f"tensor<{SUMS}>")
    y = p.each("arith.addf %x0, %x1 : f32",
               [(sums, None, None), (matrix, "affine_map<(i0, i1, i2) -> (i1, i2)>",
                                     f"tensor<{SUMS}>")], "f32", shape=f"3x{M}x{N}")
    case(p, [(y, f"3x{SUMS}")], [plain], 1)
    narrow = plain.replace("f32", "bf16")
    p = Program("rounded before and after a vector", dtype="bf16")
    case(p, [(p.add_vector(p.round(p.product()), dtype="bf16"), f"{M}x{N}xbf16")],
         [narrow + " + bias"], 0)
    p = Program("rounded behind a reshape", dtype="bf16")
    case(p, [(p.round(p.by_token(p.product()), shape=f"2x2x{N}"), f"2x2x{N}xbf16")],
         [narrow], 0)
    p = Program("rounded to another type", dtype="bf16")
    case(p, [(p.round(p.product(), to="f16"), f"{M}x{N}xf16")],
         [narrow + " to f32"], 1)
    p = Program("a vector of f64", dtype="f64")
    case(p, [(p.add_vector(p.add_matrix(p.product(), dtype="f64"), dtype="f64"),
              f"{M}x{N}xf64")], [plain.replace("f32", "f64") + " + residual"], 1)
    # The epilogue of the last of three ranks, which has no products.
    p = uneven_product("a rank without products")
    case(p, [p.add_vector(p.sums)], [plain.replace(f"x {K}", "x [8, 8, 0]")], 1)
    p = uneven_product("ranks of different sizes", size=20)
    case(p, [p.add_vector(p.sums)], [plain.replace(f"x {K}", "x [8, 8, 4]") + " + bias"], 0)
    return cases


def uneven_product(name, size=16):
    """A product whose summed dimension, `size` long, is divided over three ranks."""
    p = Program(name)
    p.attributes = 'tp.mesh = #tp.mesh<"tp" = 3>'
    rank = p.line('tp.axis_index over <<"tp" = 3>, ["tp"]> : index')
    chunk, end = p.constant(K, "index"), p.constant(size, "index")
    start = p.line(f"arith.muli {rank}, {chunk} : index")
    zeros = p.zeros(f"{M}x{N}", "f32")
    p.sums = p.line(f"""linalg.generic {{indexing_maps = [#mk, #kn, #mn], iterator_types = ["parallel", "parallel", "reduction"]}}
      ins(%a, %b : tensor<{M}x{K}xf32>, tensor<{K}x{N}xf32>) outs({zeros} : tensor<{SUMS}>) {{
  ^bb0(%x: f32, %y: f32, %sum: f32):
    %i = linalg.index 2 : index
    %at = arith.addi {start}, %i : index
    %counts = arith.cmpi slt, %at, {end} : index
    %p = arith.mulf %x, %y : f32
    %s = arith.addf %sum, %p : f32
    %t = arith.select %counts, %s, %sum : f32
    linalg.yield %t : f32
  }} -> tensor<{SUMS}>""")
    return p


def describe(entry):
    """The products as text, and the number of kernels."""
    products = []
    for command in entry["program"]:
        if command["command"] != "gemm":
            continue
        k = command['k']['sizes'] if isinstance(command['k'], dict) else command['k']
        text = f"{command['m']} x {command['n']} x {k} {command['dtype']}"
        text += f" to {command['c_dtype']}" if "c_dtype" in command else ""
        text += " + residual" if "residual" in command else ""
        text += " + bias" if "bias" in command else ""
        text += f", {command['activation']}" if "activation" in command else ""
        products.append(text)
    return products, sum(c["command"] == "kernel" for c in entry["program"])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tp_opt")
    parser.add_argument("file")
    options = parser.parse_args()
    tp_opt, path = options.tp_opt, options.file
    cases = programs()
    with open(path, "w") as file:
        file.write("\n// -----\n\n".join(text for text, _, _ in cases.values()))
    run = subprocess.run([tp_opt, path, "--split-input-file", "-o", "/dev/null",
                          "--tp-cuda-compile=show=manifest"],
                         capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    found, rest, decoder = {}, run.stdout.strip(), json.JSONDecoder()
    while rest:
        manifest, end = decoder.raw_decode(rest)
        rest = rest[end:].lstrip()
        entry, = manifest["entries"]
        found[entry["inputs"][0]["name"]] = describe(entry)
    right = 0
    for name, (_, products, kernels) in cases.items():
        right += found[name] == (products, kernels)
        if found[name] != (products, kernels):
            print(f"{name}: expected {products} and {kernels} kernels, "
                  f"got {found[name]}")
    print(f"{right} of {len(cases)} programs as expected")
    return right != len(cases)


if __name__ == "__main__":
    sys.exit(main())
