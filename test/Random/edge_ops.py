"""Single ops on numbers at the edges of their type: zeros of both signs, denormal numbers,
infinities, NaN, ties. Their results are compared bit for bit and read by nothing else,
where an order of additions would make other numbers of them."""

from values import Value, type_of

BINARY = ["addf", "subf", "mulf", "divf", "maximumf", "minimumf"]
UNARY = ["arith.negf", "math.absf", "math.floor", "math.roundeven", "math.sqrt"]
MODES = ["upward", "downward", "toward_zero", "to_nearest_away", "to_nearest_even"]
NARROWER = {"f64": ["f32", "f16", "bf16"], "f32": ["f16", "bf16"]}


def argument(p, element, shape=None):
    """An argument of such numbers, which is in none of the values that others read."""
    shape = p.random_shape() if shape is None else shape
    value = Value(f"%a{len(p.arguments)}_edge", shape, element)
    p.arguments.append(value)
    return value


def result(p, text, shape, element, tag):
    value = Value(p.fresh(text), shape, element)
    value.tag = tag
    p.edges.append(value)


def element_op(p):
    if p.depth or len(p.edges) > 2:
        return
    a = argument(p, p.rng.choice(["f32", "f32", "f64", "f16", "bf16", "bf16"]))
    if p.rng.random() < 0.3:
        text = f"{p.rng.choice(UNARY)} {a.name}"
    else:
        b = argument(p, a.element, a.shape)
        text = f"arith.{p.rng.choice(BINARY)} {a.name}, {b.name}"
    result(p, f"{text} : {a.type}", a.shape, a.element, "bits")


def rounding(p):
    """No upstream pass rounds in these modes: arrays.rounded says what is right."""
    if p.depth or len(p.edges) > 2:
        return
    a = argument(p, p.rng.choice(list(NARROWER)))
    to, mode = p.rng.choice(NARROWER[a.element]), p.rng.choice(MODES)
    result(p, f"arith.truncf {a.name} {mode} : {a.type} to {type_of(a.shape, to)}", a.shape, to,
           f"{mode}_of_{a.name[1:]}_bits")


OPS = [(1.2, element_op), (1.2, rounding)]
