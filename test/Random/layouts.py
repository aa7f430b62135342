"""Random meshes and random layouts on them."""

import math

NAMES = ("dp", "tp", "cp")
MESHES = [(1,)] + [(2,)] * 8 + [(3,)] * 4 + [(4,)] * 5 + [(5,)] * 2 + [(6,), (7,), (8,), (8,)] + \
    [(2, 2)] * 5 + [(2, 3), (3, 2), (2, 4), (4, 2), (1, 3), (2, 1), (2, 2, 2), (1, 2, 2)]


# How often a program uses what may be refused. A feature that tp refuses
# always stays rare, so that most programs run.
FEATURES = {
    "several_axes": 0.3, "device_order": 0.15, "empty_dims": 0.03, "constrain": 0.12,
    "special_numbers": 0.04, "edge_numbers": 0.06, "large_dims": 0.05,
    "uneven": 0.25, "uneven_when_forced": 0.7, "unit": 0.1, "segments": 0.1,
    "partial_pin": 0.03, "partial_port": 0.06, "affine_maps": 0.2,
}


class Mesh:
    def __init__(self, rng, features):
        self.sizes = rng.choice([m for m in MESHES if len(m) == 1] if
                                rng.random() >= features["several_axes"] else
                                [m for m in MESHES if len(m) > 1])
        self.axes = [NAMES[1]] if len(self.sizes) == 1 else list(NAMES[:len(self.sizes)])
        self.ranks = math.prod(self.sizes)
        parts = [f'"{name}" = {size}' for name, size in zip(self.axes, self.sizes)]
        if rng.random() < features["device_order"] and self.ranks > 1:
            parts.append(f"devices = {rng.sample(range(self.ranks), self.ranks)}")
        self.text = f"#tp.mesh<{', '.join(parts)}>"


def chunks(program, size):
    """Options of a shard of a dimension: its unit or its segments."""
    rng = program.rng
    units = [u for u in range(2, size) if size % u == 0]
    if units and program.has("unit"):
        return f", unit = {rng.choice(units)}"
    if size > 1 and program.has("segments"):
        cuts = sorted(rng.sample(range(1, size), min(rng.randint(1, 2), size - 1)))
        if size % 2 == 0 and rng.random() < 0.5:
            cuts = [size // 2]
        return f", segments = {[b - a for a, b in zip([0] + cuts, cuts + [size])]}"
    return ""


def placement(program, value, ranks, options, kinds=()):
    """A random placement of `value` on an axis of `ranks`. All axes on one dimension
    agree on its chunks: `options` keeps them by dimension."""
    rng = program.rng
    if kinds and program.has("partial_pin"):
        return f"partial<{rng.choice(kinds)}>"
    if rng.random() < 0.25 or not value.shape:
        return "replicate"
    dims = [d for d, n in enumerate(value.shape) if n and n % ranks == 0]
    if not dims and not program.has("uneven_when_forced"):
        return "replicate"
    dim = rng.randrange(value.rank) if not dims or program.has("uneven") else rng.choice(dims)
    if dim not in options:
        options[dim] = chunks(program, value.shape[dim])
    return f"shard<{dim}{options[dim]}>"


def reductions(value):
    """The kinds by which elements of the value combine."""
    if value.element == "i1":
        return ("max", "min")
    if value.element.startswith("ui"):
        return ("sum", "product")
    return ("sum", "product", "max", "min") + ("avg",) * value.is_float


def pin(program, value, is_argument):
    """`, tp.pin = {...}` of an argument or a result, or nothing."""
    rng = program.rng
    if rng.random() > (0.8 if is_argument else 0.5):
        return ""
    options = {}
    # All axes on which a port is partial have one kind.
    kind = rng.choice(reductions(value))

    def draw(size):
        if program.has("partial_port"):
            return f"partial<{kind}>"
        return placement(program, value, size, options)
    pins = [f"{axis} = #tp.placement<{draw(size)}>"
            for axis, size in zip(program.mesh.axes, program.mesh.sizes)
            if is_argument or rng.random() < 0.7]
    return f", tp.pin = {{{', '.join(pins)}}}" if pins else ""


def placement_of_value(program, value):
    """(axis, placement) for a `tp.constrain`."""
    at = program.rng.randrange(len(program.mesh.axes))
    kinds = ("sum", "max", "min") if value.element != "i1" else ("max", "min")
    return program.mesh.axes[at], placement(program, value, program.mesh.sizes[at], {}, kinds)
