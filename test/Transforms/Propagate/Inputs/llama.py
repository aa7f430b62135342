"""Writes a Llama in the form tp-normalize leaves it in, with the pins of a plan.

llama.py LAYERS PLAN [--dim D --heads H --kv K --seq S --batch B --vocab V
         --ranks N --logits-replicated]
PLAN is megatron, sequence, or weights: the pins of megatron on weights only.
"""
import argparse

parser = argparse.ArgumentParser()
parser.add_argument("layers", type=int)
parser.add_argument("plan", choices=["megatron", "sequence", "weights"])
for name, default in [("dim", 64), ("heads", 8), ("kv", 4), ("seq", 32),
                      ("batch", 2), ("vocab", 256), ("ffn", 96), ("ranks", 4)]:
    parser.add_argument("--" + name, type=int, default=default)
parser.add_argument("--logits-replicated", action="store_true")
a = parser.parse_args()
B, S, D, H, K, V, F = a.batch, a.seq, a.dim, a.heads, a.kv, a.vocab, a.ffn
E = D // H
sequence = a.plan == "sequence"

arguments, body, number = [], [], 0


def fresh():
    global number
    number += 1
    return f"%v{number}"


def tensor(shape, element="f32"):
    return f"tensor<{'x'.join(map(str, shape))}x{element}>"


class Value:
    def __init__(self, name, shape, element="f32"):
        self.name, self.shape, self.element = name, list(shape), element

    @property
    def type(self):
        return tensor(self.shape, self.element)


def argument(name, shape, kind="parameter", shard=None, element="f32"):
    value = Value(f"%a{len(arguments)}", shape, element)
    pin = f", tp.pin = {{tp = #tp.placement<shard<{shard}>>}}" if shard is not None else ""
    arguments.append(f'{value.name}: {value.type} {{tp.kind = "{kind}", tp.name = "{name}"{pin}}}')
    return value


def emit(text):
    body.append("    " + text)


def fill(shape, literal="0.0"):
    c, e, f = fresh(), fresh(), fresh()
    emit(f"{c} = arith.constant {literal} : f32")
    emit(f"{e} = tensor.empty() : {tensor(shape)}")
    emit(f"{f} = linalg.fill ins({c} : f32) outs({e} : {tensor(shape)}) -> {tensor(shape)}")
    return Value(f, shape)


def generic(loops, inputs, output, shape, lines, init=None, element="f32"):
    """loops: letters; inputs: (value, letters); output: letters of the result.
    lines: body with %i0, %i1, ..., %o; the last word is yielded."""
    place = {letter: f"d{i}" for i, letter in enumerate(loops)}

    def amap(letters):
        return f"affine_map<({', '.join(place.values())}) -> ({', '.join(place[l] for l in letters)})>"

    if init is None:
        name = fresh()
        emit(f"{name} = tensor.empty() : {tensor(shape, element)}")
        init = Value(name, shape, element)
    maps = ", ".join(amap(letters) for letters in [l for _, l in inputs] + [output])
    kinds = ", ".join('"parallel"' if l in output else '"reduction"' for l in loops)
    ins = f"ins({', '.join(v.name for v, _ in inputs)} : {', '.join(v.type for v, _ in inputs)}) " if inputs else ""
    result = fresh()
    emit(f"{result} = linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
         f"{ins}outs({init.name} : {init.type}) {{")
    block = ", ".join([f"%i{n}: {v.element}" for n, (v, _) in enumerate(inputs)] + [f"%o: {element}"])
    emit(f"^bb0({block}):")
    for line in lines[:-1]:
        emit("  " + line)
    emit(f"  linalg.yield {lines[-1]} : {element}")
    emit(f"}} -> {init.type}")
    return Value(result, shape, element)


def contract(loops, x, xl, y, yl, out, shape):
    return generic(loops, [(x, xl), (y, yl)], out, shape,
                   ["%m = arith.mulf %i0, %i1 : f32", "%s = arith.addf %o, %m : f32", "%s"], fill(shape))


def reduce(loops, x, out, shape, op, start):
    return generic(loops, [(x, loops)], out, shape, [f"%s = {op} %o, %i0 : f32", "%s"], fill(shape, start))


def pointwise(loops, inputs, shape, *lines):
    return generic(loops, inputs, loops, shape, list(lines))


def expand(value, groups, shape):
    result = fresh()
    emit(f"{result} = tensor.expand_shape {value.name} {groups} output_shape {shape} : {value.type} into {tensor(shape)}")
    return Value(result, shape)


def pin(value, placement, module, port, lazy=False):
    if a.plan == "weights":
        return value
    result = fresh()
    emit(f'{result} = tp.constrain {value.name} on "tp" of #mesh to {placement} view {value.shape} '
         f'{"lazy " if lazy else ""}at "{module}" "{port}" : {value.type}')
    return Value(result, value.shape)


def output(value, module):
    return pin(value, "shard<1>" if sequence else "replicate", module, "output", not sequence)


def norm(x, module):
    w = argument(module + ".weight", [D])
    if sequence:
        x = pin(x, "shard<1>", module, "input")
    square = pointwise("bsk", [(x, "bsk")], [B, S, D], "%m = arith.mulf %i0, %i0 : f32", "%m")
    total = reduce("bsk", square, "bs", [B, S], "arith.addf", "0.0")
    scale = pointwise("bs", [(total, "bs")], [B, S], "%n = arith.constant 64.0 : f32",
                      "%q = arith.divf %i0, %n : f32", "%r = math.rsqrt %q : f32", "%r")
    y = pointwise("bsk", [(x, "bsk"), (scale, "bs")], [B, S, D], "%m = arith.mulf %i0, %i1 : f32", "%m")
    y = pointwise("bsk", [(y, "bsk"), (w, "k")], [B, S, D], "%m = arith.mulf %i0, %i1 : f32", "%m")
    return pin(y, "shard<1>", module, "output") if sequence else y


def rope(x, heads, cos, sin):
    shape, half = [B, S, heads, E], [B, S, heads, E // 2]
    parts = []
    for offset in (0, E // 2):
        part = fresh()
        emit(f"{part} = tensor.extract_slice {x.name}[0, 0, 0, {offset}] {half} [1, 1, 1, 1] : {x.type} to {tensor(half)}")
        parts.append(Value(part, half))
    negated = pointwise("bshe", [(parts[1], "bshe")], half, "%m = arith.negf %i0 : f32", "%m")
    turned = fresh()
    emit(f"{turned} = tensor.concat dim(3) {negated.name}, {parts[0].name} : ({negated.type}, {parts[0].type}) -> {tensor(shape)}")
    left = pointwise("bshe", [(x, "bshe"), (cos, "se")], shape, "%m = arith.mulf %i0, %i1 : f32", "%m")
    right = pointwise("bshe", [(Value(turned, shape), "bshe"), (sin, "se")], shape, "%m = arith.mulf %i0, %i1 : f32", "%m")
    return pointwise("bshe", [(left, "bshe"), (right, "bshe")], shape, "%m = arith.addf %i0, %i1 : f32", "%m")


def attention(x, module, cos, sin, mask):
    def project(name, heads):
        w = expand(argument(f"{module}.{name}.weight", [heads * E, D], shard=0), "[[0, 1], [2]]", [heads, E, D])
        inner = pin(x, "replicate", f"{module}.{name}", "input")
        y = contract("bshek", inner, "bsk", w, "hek", "bshe", [B, S, heads, E])
        return pin(y, "shard<2>", f"{module}.{name}", "output")

    q, k, v = project("wq", H), project("wk", K), project("wv", K)
    q, k = rope(q, H, cos, sin), rope(k, K, cos, sin)

    def repeat(y):
        wide = generic("bskre", [(y, "bske")], "bskre", [B, S, K, H // K, E], ["%i0"])
        flat = fresh()
        emit(f"{flat} = tensor.collapse_shape {wide.name} [[0], [1], [2, 3], [4]] : {wide.type} into {tensor([B, S, H, E])}")
        return Value(flat, [B, S, H, E])

    k, v = repeat(k), repeat(v)
    full, row = [B, H, S, S], [B, H, S]
    scores = contract("bhste", q, "bshe", k, "bthe", "bhst", full)
    scores = pointwise("bhst", [(scores, "bhst"), (mask, "st")], full, "%m = arith.addf %i0, %i1 : f32", "%m")
    top = reduce("bhst", scores, "bhs", row, "arith.maximumf", "0xFF800000")
    weights = pointwise("bhst", [(scores, "bhst"), (top, "bhs")], full,
                        "%m = arith.subf %i0, %i1 : f32", "%e = math.exp %m : f32", "%e")
    total = reduce("bhst", weights, "bhs", row, "arith.addf", "0.0")
    weights = pointwise("bhst", [(weights, "bhst"), (total, "bhs")], full, "%m = arith.divf %i0, %i1 : f32", "%m")
    mixed = contract("bshet", weights, "bhst", v, "bthe", "bshe", [B, S, H, E])
    wo = expand(argument(f"{module}.wo.weight", [D, H * E], shard=1), "[[0], [1, 2]]", [D, H, E])
    mixed = pin(mixed, "shard<2>", f"{module}.wo", "input")
    y = contract("bskhe", mixed, "bshe", wo, "khe", "bsk", [B, S, D])
    return output(y, f"{module}.wo")


def feed_forward(x, module):
    def linear(value, name, size_in, size_out, shard):
        w = argument(f"{module}.{name}.weight", [size_out, size_in], shard=shard)
        value = pin(value, "replicate" if shard == 0 else "shard<2>", f"{module}.{name}", "input")
        return contract("bsfk", value, "bsk", w, "fk", "bsf", [B, S, size_out])

    gate = linear(x, "w1", D, F, 0)
    gate = pointwise("bsf", [(gate, "bsf")], [B, S, F], "%n = arith.negf %i0 : f32", "%e = math.exp %n : f32",
                     "%1 = arith.constant 1.0 : f32", "%p = arith.addf %e, %1 : f32", "%d = arith.divf %i0, %p : f32", "%d")
    up = linear(x, "w3", D, F, 0)
    both = pointwise("bsf", [(gate, "bsf"), (up, "bsf")], [B, S, F], "%m = arith.mulf %i0, %i1 : f32", "%m")
    return output(linear(both, "w2", F, D, 1), f"{module}.w2")


def add(x, y):
    return pointwise("bsk", [(x, "bsk"), (y, "bsk")], [B, S, D], "%m = arith.addf %i0, %i1 : f32", "%m")


tokens = argument("tokens", [B, S], "user_input", element="i64")
cos, sin = argument("cos", [S, E], "buffer"), argument("sin", [S, E], "buffer")
table = argument("tok_embeddings.weight", [V, D], shard=0)
x = generic("bsk", [(tokens, "bs")], "bsk", [B, S, D],
            ["%r = arith.index_cast %i0 : i64 to index", "%c = linalg.index 2 : index",
             f"%t = tensor.extract {table.name}[%r, %c] : {table.type}", "%t"])
x = output(x, "tok_embeddings")
mask = generic("st", [], "st", [S, S],
               ["%r = linalg.index 0 : index", "%c = linalg.index 1 : index",
                "%g = arith.cmpi ult, %r, %c : index", "%z = arith.constant 0.0 : f32",
                "%l = arith.constant 0xFF800000 : f32", "%m = arith.select %g, %l, %z : f32", "%m"])
mask = pointwise("st", [(mask, "st")], [S, S], "%m = arith.mulf %i0, %i0 : f32", "%i0")
for layer in range(a.layers):
    x = add(x, attention(norm(x, f"layers.{layer}.attention_norm"), f"layers.{layer}.attention", cos, sin, mask))
    x = add(x, feed_forward(norm(x, f"layers.{layer}.ffn_norm"), f"layers.{layer}.feed_forward"))
x = norm(x, "norm")
head = argument("output.weight", [V, D], shard=0)
x = pin(x, "replicate", "output", "input")
logits = contract("bsvk", x, "bsk", head, "vk", "bsv", [B, S, V])
logits = pin(logits, "shard<2>", "output", "output")
result = "{tp.pin = {tp = #tp.placement<replicate>}}" if a.logits_replicated else ""
print(f'#mesh = #tp.mesh<"tp" = {a.ranks}>')
print("module attributes {tp.mesh = #mesh} {")
print(f"  func.func @main({', '.join(arguments)}) -> ({logits.type} {result}) {{")
print("\n".join(body))
print(f"    return {logits.name} : {logits.type}\n  }}\n}}")
