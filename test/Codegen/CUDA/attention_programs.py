"""Attention as programs write it: the same thing in many spellings, and things that look
like it and are something else. Used by attention_cases.py.
"""

INFINITY = {"f64": "0xFFF0000000000000", "f32": "0xFF800000", "f16": "0xFC00",
            "bf16": "0xFF80"}
LOWEST = {"f64": "-1.7976931348623157E+308", "f32": "-3.40282347E+38", "f16": "-65504.0",
          "bf16": "-3.38953139E+38"}
WIDTH = {"f64": 64, "f32": 32, "f16": 16, "bf16": 16}


def tensor(shape, dtype):
    return "tensor<" + "".join(f"{n}x" for n in shape) + dtype + ">"


class Value:
    def __init__(self, name, shape, dtype):
        self.name, self.shape, self.dtype = name, tuple(shape), dtype
        self.type = tensor(shape, dtype)


class Program:
    """One function, op by op. Loops have names: "bhid" is four of them."""

    def __init__(self):
        self.arguments, self.lines, self.results, self.next = [], [], [], 0

    def name(self):
        self.next += 1
        return f"%v{self.next}"

    def emit(self, text, shape=(), dtype=""):
        name = self.name()
        self.lines.append(f"    {name} = {text}")
        return Value(name, shape, dtype)

    def argument(self, shape, dtype):
        value = Value(f"%arg{len(self.arguments)}", shape, dtype)
        self.arguments.append(value)
        return value

    def number(self, value, dtype):
        typed = value if dtype == "i1" else f"{value} : {dtype}"
        return self.emit(f"arith.constant {typed}", (), dtype).name

    def empty(self, shape, dtype):
        return self.emit(f"tensor.empty() : {tensor(shape, dtype)}", shape, dtype)

    def filled(self, number, shape, dtype):
        scalar, empty = self.number(number, dtype), self.empty(shape, dtype)
        return self.emit(f"linalg.fill ins({scalar} : {dtype}) outs({empty.name} : "
                         f"{empty.type}) -> {empty.type}", shape, dtype)

    def generic(self, inputs, sizes, out, dtype, body, init=None, loops=None):
        """`inputs`: pairs of a value and its loops; `body(emit, scalars)` returns the
        name and may take the accumulator, which comes last."""
        loops = loops or out
        shape = [sizes[x] for x in out]
        init = init or self.empty(shape, dtype)
        # 1 stands for the only index of a dimension.
        place = lambda x: "0" if x == "1" else x
        of = lambda names: "(" + ", ".join(map(place, names)) + ")"
        maps = [f"affine_map<({', '.join(loops)}) -> {of(names)}>"
                for names in [l for _, l in inputs] + [out]]
        kinds = [f'"{"parallel" if x in out else "reduction"}"' for x in loops]
        scalars = [f"%s{self.next}_{i}" for i in range(len(inputs) + 1)]
        types = [v.dtype for v, _ in inputs] + [dtype]
        ins = ""
        if inputs:
            ins = (f"ins({', '.join(v.name for v, _ in inputs)} : "
                   f"{', '.join(v.type for v, _ in inputs)}) ")
        result = self.emit(
            f"linalg.generic {{indexing_maps = [{', '.join(maps)}], iterator_types = "
            f"[{', '.join(kinds)}]}} {ins}outs({init.name} : {init.type}) {{", shape, dtype)
        self.lines.append("    ^bb0(" + ", ".join(
            f"{s}: {t}" for s, t in zip(scalars, types)) + "):")

        def emit(text):
            name = self.name()
            self.lines.append(f"      {name} = {text}")
            return name
        yielded = body(emit, scalars)
        self.lines += [f"      linalg.yield {yielded} : {dtype}", f"    }} -> {init.type}"]
        return result

    def map(self, value, loops, sizes, op, dtype=None):
        """An elementwise op of one operand: `op` with {} for it."""
        dtype = dtype or value.dtype
        return self.generic([(value, loops)], sizes, loops, dtype,
                            lambda emit, s: emit(op.format(s[0])))

    def cast(self, value, loops, sizes, dtype):
        if value.dtype == dtype:
            return value
        op = "extf" if WIDTH[dtype] > WIDTH[value.dtype] else "truncf"
        return self.map(value, loops, sizes, f"arith.{op} {{}} : {value.dtype} to {dtype}",
                        dtype)

    def view(self, value, loops, out, sizes):
        """A transpose or a broadcast."""
        return self.generic([(value, loops)], sizes, out, value.dtype,
                            lambda emit, s: s[0])

    def collapse(self, value, groups):
        """Joins dimensions: groups of how many."""
        shape, parts, at = [], [], 0
        for count in groups:
            size = 1
            for n in value.shape[at:at + count]:
                size *= n
            shape.append(size)
            parts.append("[" + ", ".join(str(at + i) for i in range(count)) + "]")
            at += count
        type = tensor(shape, value.dtype)
        return self.emit(f"tensor.collapse_shape {value.name} [{', '.join(parts)}] : "
                         f"{value.type} into {type}", shape, value.dtype)

    def expand(self, value, shape, groups):
        parts, at = [], 0
        for count in groups:
            parts.append("[" + ", ".join(str(at + i) for i in range(count)) + "]")
            at += count
        type = tensor(shape, value.dtype)
        return self.emit(
            f"tensor.expand_shape {value.name} [{', '.join(parts)}] output_shape "
            f"[{', '.join(map(str, shape))}] : {value.type} into {type}", shape,
            value.dtype)

    def reduce(self, value, loops, along, sizes, op, start, dtype=None):
        out = loops.replace(along, "")
        dtype = dtype or value.dtype
        init = self.filled(start, [sizes[x] for x in out], dtype)
        return self.generic([(value, loops)], sizes, out, dtype,
                            lambda emit, s: emit(f"arith.{op} {s[0]}, {s[1]} : {dtype}"),
                            init, loops)

    def contract(self, a, a_loops, b, b_loops, out, sizes, dtype):
        loops = out + "".join(x for x in a_loops if x not in out and x != "1")
        init = self.filled("0.0", [sizes[x] for x in out], dtype)

        def body(emit, s):
            wide = [s[i] if v.dtype == dtype else
                    emit(f"arith.extf {s[i]} : {v.dtype} to {dtype}")
                    for i, v in enumerate((a, b))]
            product = emit(f"arith.mulf {wide[0]}, {wide[1]} : {dtype}")
            return emit(f"arith.addf {s[2]}, {product} : {dtype}")
        return self.generic([(a, a_loops), (b, b_loops)], sizes, out, dtype, body, init,
                            loops)

    def batch_matmul(self, a, b, dtype):
        shape = [a.shape[0], a.shape[1], b.shape[2]]
        init = self.filled("0.0", shape, dtype)
        return self.emit(f"linalg.batch_matmul ins({a.name}, {b.name} : {a.type}, {b.type}) "
                         f"outs({init.name} : {init.type}) -> {init.type}", shape, dtype)

    def text(self):
        arguments = ", ".join(f'{a.name}: {a.type} {{tp.name = "a{i}"}}'
                              for i, a in enumerate(self.arguments))
        types = ", ".join(r.type for r in self.results)
        named = ", ".join(f'{r.type} {{tp.name = "r{i}"}}'
                          for i, r in enumerate(self.results))
        returned = ", ".join(r.name for r in self.results)
        return (f"func.func @main({arguments}) -> ({named}) {{\n" + "\n".join(self.lines)
                + f"\n    return {returned} : {types}\n}}\n")


def make_mask(p, kind, sizes, dtype, heads):
    """How scores are masked: a function of them, or None."""
    S, T = sizes["i"], sizes["j"]
    compare = {"causal": lambda i, j: j <= i, "bottom": lambda i, j: j <= i + T - S,
               "window": lambda i, j: i - 3 < j <= i, "strict": lambda i, j: j < i,
               "prefix": lambda i, j: j <= i or j < 3,
               "blocks": lambda i, j: i // 4 == j // 4}

    def table(test):
        rows = ", ".join("[" + ", ".join("true" if test(i, j) else "false"
                                         for j in range(T)) + "]" for i in range(S))
        return p.emit(f"arith.constant dense<[{rows}]> : {tensor((S, T), 'i1')}", (S, T), "i1")

    def by_index(emit, s, bound=0):
        i, j = emit("linalg.index 0 : index"), emit("linalg.index 1 : index")
        difference = emit(f"arith.subi {j}, {i} : index")
        limit = emit(f"arith.constant {bound} : index")
        return emit(f"arith.cmpi sle, {difference}, {limit} : index")

    def select(condition, loops, masked):
        def apply(scores):
            return p.generic(
                [(condition, loops), (scores, heads)], sizes, heads, scores.dtype,
                lambda emit, s: emit(
                    f"arith.select {s[0]}, {s[1]}, "
                    f"{emit(f'arith.constant {masked[scores.dtype]} : {scores.dtype}')} : "
                    f"{scores.dtype}"))
        return apply

    def add(condition, loops, masked):
        numbers = p.generic(
            [(condition, loops)], sizes, loops, dtype,
            lambda emit, s: emit(
                f"arith.select {s[0]}, {emit(f'arith.constant 0.0 : {dtype}')}, "
                f"{emit(f'arith.constant {masked[dtype]} : {dtype}')} : {dtype}"))
        return added(numbers, loops)

    def added(numbers, loops):
        def apply(scores):
            same = p.cast(numbers, loops, sizes, scores.dtype)
            return p.generic(
                [(scores, heads), (same, loops)], sizes, heads, scores.dtype,
                lambda emit, s: emit(f"arith.addf {s[0]}, {s[1]} : {scores.dtype}"))
        return apply

    if kind == "none":
        return None
    if kind == "causal-index-select":
        return select(p.generic([], sizes, "ij", "i1", by_index), "ij", INFINITY)
    if kind == "bottom-index-add":
        return add(p.generic([], sizes, "ij", "i1",
                             lambda emit, s: by_index(emit, s, T - S)), "ij", INFINITY)
    if kind == "padding-select":
        return select(p.argument((sizes["b"], T), "i1"), "bj", INFINITY)
    if kind == "causal-and-padding":
        seen = p.generic([(p.argument((sizes["b"], T), "i1"), "bj"),
                          (table(compare["causal"]), "ij")], sizes, "bij", "i1",
                         lambda emit, s: emit(f"arith.andi {s[0]}, {s[1]} : i1"))
        return select(seen, "bij", INFINITY)
    if kind == "argument":
        return added(p.argument((sizes["b"], 1, S, T), dtype), "b1ij")
    if kind == "alibi":
        def slope(emit, s):
            h, i, j = (emit(f"linalg.index {d} : index") for d in range(3))
            distance = emit(f"arith.subi {j}, {i} : index")
            product = emit(f"arith.muli {distance}, {h} : index")
            number = emit(f"arith.index_cast {product} : index to i64")
            return emit(f"arith.sitofp {number} : i64 to {dtype}")
        return added(p.generic([], sizes, "hij", dtype, slope), "hij")
    if kind == "signed-zeros":
        # Only a quotient tells the zeros apart: no key is hidden, for max(-0, 0) is 0.
        def bound(emit, s):
            number = emit(f"arith.index_cast {emit('linalg.index 0 : index')} : index to i64")
            below = emit(f"arith.negf {emit(f'arith.sitofp {number} : i64 to {dtype}')} : {dtype}")
            zero, one = (emit(f"arith.constant {n} : {dtype}") for n in ("0.0", "1.0"))
            largest = emit(f"arith.maximumf {below}, {zero} : {dtype}")
            inverse = emit(f"arith.divf {one}, {largest} : {dtype}")
            return emit(f"arith.minimumf {inverse}, {zero} : {dtype}")
        return added(p.generic([], sizes, "j", dtype, bound), "j")
    test, how = kind.split("-", 1)
    condition = table(compare[test])
    return {"table-select": lambda: select(condition, "ij", INFINITY),
            "table-add": lambda: add(condition, "ij", INFINITY),
            "table-add-finite": lambda: add(condition, "ij", LOWEST),
            "table-select-finite": lambda: select(condition, "ij", LOWEST),
            "table-add-small": lambda: add(condition, "ij", {d: "-16.0" for d in WIDTH}),
            "table-select-small": lambda: select(condition, "ij", {d: "-16.0" for d in WIDTH}),
            }[how]()


def attention(B=2, H=4, G=None, S=8, T=8, D=4, E=None, dtype="f32", mask="none",
              scale="scores", form="plain", guard=False, divide="weights", order="bhsd",
              wide=True, miss=""):
    """A program. `order`: how q, k, v lie; `form`: how products are spelled; `wide`: f16
    and bf16 are extended before the first product, as scaled_dot_product_attention does,
    not rounded after it; `miss`: what makes it something else."""
    p, G, E = Program(), G or H, E or D
    sizes = dict(b=B, h=H, g=G, r=H // G, i=S, j=T, d=D, e=E)
    acc = "f64" if dtype == "f64" else "f32"
    size = {"bhsd": lambda h, s, d: (B, h, s, d), "bshd": lambda h, s, d: (B, s, h, d)}[order]
    q = p.argument(size(H, S, D), dtype)
    k, v = p.argument(size(G, T, D), dtype), p.argument(size(G, T, E), dtype)
    if order == "bshd":
        q, k, v = (p.view(x, l, o, sizes) for x, l, o in
                   [(q, "bihd", "bhid"), (k, "bjgd", "bgjd"), (v, "bjge", "bgje")])
    if G != H:
        # Keys are repeated for all heads that share them.
        k = p.collapse(p.view(k, "bgjd", "bgrjd", sizes), [1, 2, 1, 1])
        v = p.collapse(p.view(v, "bgje", "bgrje", sizes), [1, 2, 1, 1])
    if wide:
        q, k, v = (p.cast(x, l, sizes, acc) for x, l in [(q, "bhid"), (k, "bhjd"), (v, "bhje")])
    number = D ** -0.5
    times = lambda x, loops, factor: p.map(
        x, loops, sizes, f"arith.mulf {{}}, {p.number(factor, x.dtype)} : {x.dtype}")
    if scale == "q":
        q = times(q, "bhid", number)
    if scale == "both":
        q, k = times(q, "bhid", number ** 0.5), times(k, "bhjd", number ** 0.5)
    if form == "batch_matmul":
        kt = p.view(k, "bhjd", "bhdj", sizes)
        scores = p.expand(p.batch_matmul(p.collapse(q, [2, 1, 1]), p.collapse(kt, [2, 1, 1]),
                                         acc), (B, H, S, T), [2, 1, 1])
    else:
        scores = p.contract(q, "bhid", k, "bhjd", "bhij", sizes, acc)
    heads, narrow = "bhij", dtype if not wide else acc
    scores = p.cast(scores, heads, sizes, narrow)
    if miss == "scores-used":
        p.results.append(scores)
    if scale == "scores":
        scores = times(scores, heads, number)
    if scale == "divided":
        scores = p.map(scores, heads, sizes,
                       f"arith.divf {{}}, {p.number(D ** 0.5, narrow)} : {narrow}")
    if miss == "scale-tensor":
        scores = p.generic([(scores, heads), (p.argument((H,), narrow), "h")], sizes, heads,
                           narrow, lambda emit, s: emit(f"arith.mulf {s[0]}, {s[1]} : {narrow}"))
    if miss == "softcap":
        scores = p.map(scores, heads, sizes, f"math.tanh {{}} : {narrow}")
    apply = make_mask(p, mask, sizes, narrow, heads)
    if apply:
        scores = apply(scores)
    if miss == "mask-of-scores":
        zero = p.number("0.0", narrow)
        def positive(emit, s):
            seen = emit(f"arith.cmpf ogt, {s[0]}, {zero} : {narrow}")
            lowest = emit(f"arith.constant {INFINITY[narrow]} : {narrow}")
            return emit(f"arith.select {seen}, {s[0]}, {lowest} : {narrow}")
        scores = p.generic([(scores, heads)], sizes, heads, narrow, positive)
    scores = p.cast(scores, heads, sizes, acc)
    along = "i" if miss == "wrong-axis" else "j"
    rows = heads.replace(along, "")
    largest = p.reduce(scores, heads, along, sizes, "maximumf", INFINITY[acc])
    if miss == "other-maximum":
        largest = p.map(largest, rows, sizes, f"arith.negf {{}} : {acc}")
    minus = lambda emit, s: emit(
        f"math.exp {emit(f'arith.subf {s[0]}, {s[1]} : {acc}')} : {acc}")
    weights = p.generic([(scores, heads), (largest, rows)], sizes, heads, acc, minus)
    total = p.reduce(weights, heads, along, sizes, "addf",
                     "1.0" if miss == "sum-from-one" else "0.0")
    divided = lambda x, loops: p.generic(
        [(x, loops), (total, rows)], sizes, loops, acc,
        lambda emit, s: emit(f"arith.divf {s[0]}, {s[1]} : {acc}"))
    if divide == "weights":
        weights = divided(weights, heads)
    if divide == "inverse":
        inverse = p.map(total, rows, sizes, f"arith.divf {p.number('1.0', acc)}, {{}} : {acc}")
        weights = p.generic([(weights, heads), (inverse, rows)], sizes, heads, acc,
                            lambda emit, s: emit(f"arith.mulf {s[0]}, {s[1]} : {acc}"))
    if guard:
        masked = p.generic([(scores, heads)], sizes, heads, "i1", lambda emit, s: emit(
            f"arith.cmpf oeq, {s[0]}, "
            f"{emit(f'arith.constant {INFINITY[acc]} : {acc}')} : {acc}"))
        empty = p.reduce(masked, heads, "j", sizes, "andi", "true")
        zero = p.number("0.0", acc)
        weights = p.generic([(empty, "bhi"), (weights, heads)], sizes, heads, acc,
                            lambda emit, s: emit(f"arith.select {s[0]}, {zero}, {s[1]} : {acc}"))
    if miss == "f8-weights":
        weights = p.map(weights, heads, sizes, f"arith.truncf {{}} : {acc} to f8E4M3FN",
                        "f8E4M3FN")
        weights = p.map(weights, heads, sizes, f"arith.extf {{}} : f8E4M3FN to {acc}", acc)
    if miss == "dropout":
        weights = p.generic([(weights, heads), (p.argument((B, H, S, T), acc), heads)], sizes,
                            heads, acc, lambda emit, s: emit(f"arith.mulf {s[0]}, {s[1]} : {acc}"))
    if not wide:
        weights = p.cast(weights, heads, sizes, dtype)
    if miss == "weights-used":
        p.results.append(weights)
    if form == "batch_matmul":
        o = p.expand(p.batch_matmul(p.collapse(weights, [2, 1, 1]), p.collapse(v, [2, 1, 1]),
                                    acc), (B, H, S, E), [2, 1, 1])
    else:
        o = p.contract(weights, heads, v, "bhje", "bhie", sizes, acc)
    if divide == "output":
        o = divided(o, "bhie")
    o = p.cast(o, "bhie", sizes, dtype)
    if order == "bshd":
        o = p.collapse(p.view(o, "bhie", "bihe", sizes), [1, 1, 2])
    p.results.append(o)
    return p
