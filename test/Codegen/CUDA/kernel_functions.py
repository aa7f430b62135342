"""Programs of functions that the device has no instruction for."""

import math

# Of what the C library says, which is one off itself: units in the last place.
UNITS = {"f64": 4, "f32": 2, "f16": 1, "bf16": 1}
FUNCTIONS = ["sin", "cos", "tan", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p",
             "tanh", "sinh", "cosh", "asinh", "acosh", "atanh", "asin", "acos", "atan",
             "erf", "erfc", "cbrt"]


def functions(p):
    """What the device has no instruction for, on numbers of all sizes."""
    t, rng = p.dtype, p.rng
    inf = float("inf")
    large = {"f64": 300, "f32": 37, "f16": 4, "bf16": 37}[t]
    values = [0.0, -0.0, 1.0, -1.0, inf, -inf, float("nan"), 0.5, 2.0, 3.0, 3.5, -2.5]
    values += [rng.choice((-1, 1)) * 10 ** rng.uniform(-large, large) for _ in range(300)]
    values += [rng.uniform(-1, 1) for _ in range(200)]
    values += [rng.uniform(-12, 12) for _ in range(200)]
    values += [k * math.pi / 2 for k in range(-40, 60)]
    shape = (len(values),)
    x = p.argument(shape, t, values)
    rng.shuffle(values)
    y = p.argument(shape, t, [v if abs(v) < 50 else v % 7 for v in values])
    for name in FUNCTIONS:
        z = p.map([(x, t)], shape, f"%s = math.{name} %x0 : {t}\n"
                  f"      linalg.yield %s : {t}")
        p.result(z, shape, name, exact=UNITS[t])
    for name in ("powf", "atan2"):
        z = p.map([(x, t), (y, t)], shape, f"%s = math.{name} %x0, %x1 : {t}\n"
                  f"      linalg.yield %s : {t}")
        p.result(z, shape, name, exact=UNITS[t])
