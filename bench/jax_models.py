"""The models of bench/models in JAX: logits, and training steps with AdamW. Lowered from
shapes alone, layers unrolled, with the layouts of a plan of bench/plans.py.
"""

import math

import adamw
import least
import plans
import training_step

ELEMENTS = {"f32": "float32", "bf16": "bfloat16", "f64": "float64"}


class Functions:
    """What the models are made of. `constrain` is put on every residual, `gather` on what
    attention and feed-forward take."""

    def __init__(self, jax, model, constrain, gather):
        self.jnp, self.lax, self.stop = jax.numpy, jax.lax, jax.lax.stop_gradient
        self.model, self.sizes = model, model.sizes
        self.constrain, self.gather = constrain, gather
        self.element = getattr(jax.numpy, ELEMENTS[model.element])
        # What sums, statistics, softmax and the optimizer's state are kept in.
        self.wide = jax.numpy.float64 if model.element == "f64" else jax.numpy.float32

    def linear(self, x, weight):
        """Weights are [out, in], as torch's, of packed ones [parts, out, in]."""
        return self.lax.dot_general(x, weight, (((x.ndim - 1,), (weight.ndim - 1,)),
                                                ((), ())))

    def heads(self, x, count):
        s = self.sizes
        return x.reshape(s.batch, s.seq, count, s.head_dim).transpose(0, 2, 1, 3)

    def mask(self):
        jnp, lax, s = self.jnp, self.lax, self.sizes
        row = lax.broadcasted_iota(jnp.int32, (s.seq, s.seq), 0)
        column = lax.broadcasted_iota(jnp.int32, (s.seq, s.seq), 1)
        return lax.select(column <= row, jnp.zeros((s.seq, s.seq), self.wide),
                          jnp.full((s.seq, s.seq), -jnp.inf, self.wide))

    def softmax(self, scores):
        """In the wide type."""
        scores = scores.astype(self.wide)
        scores = self.jnp.exp(scores - self.stop(scores.max(-1, keepdims=True)))
        return (scores / scores.sum(-1, keepdims=True)).astype(self.element)

    def attend(self, q, k, v, mask=None):
        """[batch, heads, sequence, size], fewer key/value heads being repeated."""
        lax, s = self.lax, self.sizes
        spread = (s.batch, s.heads, s.seq, s.head_dim)
        shape = (s.batch, k.shape[1], s.heads // k.shape[1], s.seq, s.head_dim)
        k, v = (lax.broadcast_in_dim(t, shape, (0, 1, 3, 4)).reshape(spread)
                for t in (k, v))
        scores = lax.dot_general(q, k, (((3,), (3,)), ((0, 1), (0, 1))))
        scores = scores.astype(self.wide) * (s.head_dim ** -0.5)
        weights = self.softmax(scores if mask is None else scores + mask)
        y = lax.dot_general(weights, v, (((3,), (2,)), ((0, 1), (0, 1))))
        return y.transpose(0, 2, 1, 3).reshape(s.batch, s.seq, s.dim)

    def rows(self, table, indices):
        return table.at[indices].get(mode="promise_in_bounds")

    def cross_entropy(self, logits, labels):
        jnp, lax = self.jnp, self.lax
        logits = logits.astype(self.wide)
        logits = logits - self.stop(logits.max(-1, keepdims=True))
        sums = jnp.log(jnp.exp(logits).sum(-1))
        classes = lax.broadcasted_iota(jnp.int32, logits.shape, 2)
        picked = lax.select(classes == lax.broadcast_in_dim(labels, logits.shape, (0, 1)),
                            logits, jnp.zeros_like(logits)).sum(-1)
        return (sums - picked).mean()

    def layer_norm(self, x, weight, bias):
        jnp, lax = self.jnp, self.lax
        wide = x.astype(self.wide)
        centered = wide - jnp.mean(wide, axis=-1, keepdims=True)
        inverse = lax.rsqrt(jnp.mean(centered * centered, axis=-1, keepdims=True) +
                            self.model.epsilon)
        return (centered * inverse).astype(self.element) * weight + bias


class Llama(Functions):
    def norm(self, x, weight):
        jnp, lax = self.jnp, self.lax
        wide = x.astype(self.wide)
        mean = jnp.mean(lax.mul(wide, wide), axis=-1, keepdims=True)
        return (wide * lax.rsqrt(mean + self.model.epsilon)).astype(self.element) * weight

    def rotated(self, x, cos, sin):
        half = self.sizes.head_dim // 2
        turned = self.jnp.concatenate([-x[..., half:], x[..., :half]], axis=-1)
        return x * cos + turned * sin

    def attention(self, p, prefix, x, cos, sin, mask):
        s = self.sizes
        if self.model.isPacked:
            packed = self.linear(x, p[prefix + "wqkv.weight"])
            q, k, v = (packed[:, :, part] for part in range(3))
        else:
            q, k, v = (self.linear(x, p[f"{prefix}{name}.weight"])
                       for name in ("wq", "wk", "wv"))
        q = self.rotated(self.heads(q, s.heads), cos, sin)
        k = self.rotated(self.heads(k, s.kv_heads), cos, sin)
        y = self.attend(q, k, self.heads(v, s.kv_heads), mask)
        return self.linear(y, p[prefix + "wo.weight"])

    def feed_forward(self, p, prefix, x):
        if self.model.isPacked:
            packed = self.linear(x, p[prefix + "w13.weight"])
            gate, up = packed[:, :, 0], packed[:, :, 1]
        else:
            gate, up = (self.linear(x, p[f"{prefix}{name}.weight"])
                        for name in ("w1", "w3"))
        return self.linear(self.silu(gate) * up, p[prefix + "w2.weight"])

    def silu(self, x):
        return x * self.lax.logistic(x)

    def logits(self, p, cos, sin, tokens):
        mask = self.mask()
        x = self.constrain(self.rows(p["tok_embeddings.weight"], tokens))
        for i in range(self.sizes.layers):
            at = f"layers.{i}."
            y = self.gather(self.norm(x, p[at + "attention_norm.weight"]))
            x = self.constrain(x + self.attention(p, at + "attention.", y, cos, sin, mask))
            y = self.gather(self.norm(x, p[at + "ffn_norm.weight"]))
            x = self.constrain(x + self.feed_forward(p, at + "feed_forward.", y))
        return self.linear(self.norm(x, p["norm.weight"]), p["output.weight"])


class MixtureOfExperts(Llama):
    def feed_forward(self, p, prefix, x):
        """Experts' results are weighed before their last product, which adds them up: of a
        sum that follows a product XLA reduces every term over the ranks."""
        weights = self.softmax(self.linear(x, p[prefix + "router.weight"]))
        w1, w2, w3 = (p[f"{prefix}experts.{name}.weight"] for name in ("w1", "w2", "w3"))
        # [batch, sequence, experts, inner]
        y = self.silu(self.linear(x, w1)) * self.linear(x, w3) * weights[..., None]
        return self.lax.dot_general(y, w2, (((2, 3), (0, 2)), ((), ())))


class GPT2(Functions):
    def conv1d(self, p, name, x):
        """Weights are [in, out], of packed ones [in, parts, out]."""
        return self.jnp.tensordot(x, p[name + ".weight"], 1) + p[name + ".bias"]

    def logits(self, p, tokens):
        jnp, s, mask = self.jnp, self.sizes, self.mask()
        table, root = p["transformer.wte.weight"], math.sqrt(2.0 / math.pi)
        positions = p["transformer.wpe.weight"][:s.seq]
        x = self.constrain(self.rows(table, tokens) + positions)

        def norm(name, x):
            return self.layer_norm(x, p[name + ".weight"], p[name + ".bias"])

        for i in range(s.layers):
            at = f"transformer.h.{i}."
            y = self.conv1d(p, at + "attn.c_attn", self.gather(norm(at + "ln_1", x)))
            q, k, v = (self.heads(y[:, :, part], s.heads) for part in range(3))
            y = self.conv1d(p, at + "attn.c_proj", self.attend(q, k, v, mask))
            x = self.constrain(x + y)
            y = self.conv1d(p, at + "mlp.c_fc", self.gather(norm(at + "ln_2", x)))
            y = 0.5 * y * (1 + jnp.tanh(root * (y + 0.044715 * y * y * y)))
            x = self.constrain(x + self.conv1d(p, at + "mlp.c_proj", y))
        return self.linear(norm("transformer.ln_f", x), table)


class Bert(Functions):
    def dense(self, p, name, x):
        return self.linear(x, p[name + ".weight"]) + p[name + ".bias"]

    def norm(self, p, name, x):
        name += ".LayerNorm"
        return self.layer_norm(x, p[name + ".weight"], p[name + ".bias"])

    def gelu(self, x):
        return 0.5 * x * (1 + self.lax.erf(x * math.sqrt(0.5)))

    def sum_and_norm(self, p, name, x, y):
        y = self.constrain(self.dense(p, name + ".dense", y) + x)
        return self.constrain(self.norm(p, name, y))

    def logits(self, p, tokens, types):
        s, at = self.sizes, "bert.embeddings"
        words = p[at + ".word_embeddings.weight"]
        x = (self.rows(words, tokens) +
             self.rows(p[at + ".token_type_embeddings.weight"], types) +
             p[at + ".position_embeddings.weight"][:s.seq])
        x = self.constrain(self.norm(p, at, self.constrain(x)))
        for i in range(s.layers):
            at = f"bert.encoder.layer.{i}"
            y = self.gather(x)
            y = self.attend(*(self.heads(self.dense(p, f"{at}.attention.self.{name}", y),
                                         s.heads) for name in ("query", "key", "value")))
            x = self.sum_and_norm(p, at + ".attention.output", x, y)
            y = self.gelu(self.dense(p, at + ".intermediate.dense", self.gather(x)))
            x = self.sum_and_norm(p, at + ".output", x, y)
        at = "cls.predictions"
        y = self.gelu(self.dense(p, at + ".transform.dense", x))
        y = self.norm(p, at + ".transform", y)
        return self.linear(y, words) + p[at + ".decoder.bias"]


FUNCTIONS = {"Llama": Llama, "MixtureOfExperts": MixtureOfExperts, "GPT2": GPT2,
             "Bert": Bert}


def split_axes(model, axes):
    """The mesh's axes. Where there are fewer key/value heads than ranks the last one is
    two: heads are split over the first, and ranks along the second share them."""
    *_, name = axes
    heads = math.gcd(model.sizes.kv_heads, axes[name])
    if model.sizes.kv_heads >= axes[name]:
        return axes, (name,)
    parts = {name + "_heads": heads, name + "_shared": axes[name] // heads}
    return {other: size for other, size in axes.items() if other != name} | parts, (*parts,)


def shapes_and_layouts(model, axis, ranks, plan):
    """Of every parameter's value: its name, shape, and the axes that split each
    dimension. axis: as split_axes gives it. Packed parts are a dimension."""
    entries = list(getattr(model, plan.replace("-", "_"))())
    classes = {name: kind for name, kind, *_ in training_step.forward(model).rows}
    for name, shape in model.parameters():
        dim = plans.split_dimension(name, entries, classes)
        for end, sizes in model.segments().items():
            if not name.endswith(end):
                continue
            if len(set(sizes)) > 1:
                raise ValueError(f"{name}: parts of {sizes} are no dimension of one tensor")
            shape = (*shape[:dim], len(sizes), sizes[0], *shape[dim + 1:])
            dim += 1
        over = axis[:1] if least.shared_by(model, name, ranks) > 1 else axis
        yield name, shape, tuple(over if i == dim else None for i in range(len(shape)))


def make_step(jax, functions):
    """Loss, gradients and AdamW's update."""
    jnp, optimizer = jax.numpy, adamw.AdamW()

    def loss(p, *arguments):
        return functions.cross_entropy(functions.logits(p, *arguments[:-1]), arguments[-1])

    def step(p, first, second, number, *arguments):
        value, gradients = jax.value_and_grad(loss)(p, *arguments)
        number = number + 1
        corrections = [1 - beta ** number for beta in (optimizer.beta1, optimizer.beta2)]
        new = [{}, {}, {}]
        for name, weight in p.items():
            g = gradients[name].astype(functions.wide)
            m = first[name] * optimizer.beta1 + g * (1 - optimizer.beta1)
            v = second[name] * optimizer.beta2 + g * g * (1 - optimizer.beta2)
            decayed = weight.astype(functions.wide) * (1 - optimizer.rate * optimizer.decay)
            change = (m / corrections[0] * optimizer.rate
                      / (jax.lax.sqrt(v / corrections[1]) + optimizer.epsilon))
            for to, made in zip(new, ((decayed - change).astype(functions.element), m, v)):
                to[name] = made
        return (value, *new, number)

    return step


def jitted(jax, model, program, plan, axes):
    """The program as a function to be compiled, and the shapes, elements and layouts of
    its arguments. program: "forward" or "training"; axes: name to size, the last one being
    split over by `plan`, a first one splitting the batch."""
    sizes, jnp = model.sizes, jax.numpy
    ranks = list(axes.values())[-1]
    batch = next(iter(axes)) if len(axes) > 1 else None
    axes, axis = split_axes(model, axes)
    mesh = jax.make_mesh(tuple(axes.values()), tuple(axes),
                         devices=jax.devices()[:math.prod(axes.values())])

    def sharding(*dims):
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*dims))

    def to(*dims):
        if plan != "sequence-parallel":
            return lambda x: x
        return lambda x: jax.lax.with_sharding_constraint(x, sharding(*dims))

    functions = FUNCTIONS[type(model).__name__](
        jax, model, to(batch, axis, None), to(batch, None, None))
    parameters = {name: (shape, sharding(*dims)) for name, shape, dims
                  in shapes_and_layouts(model, axis, ranks, plan)}
    split = {name: layout for name, (_, layout) in parameters.items()}

    def shapes(element):
        return {name: jax.ShapeDtypeStruct(shape, element, sharding=layout)
                for name, (shape, layout) in parameters.items()}

    def whole(shape, element):
        return jax.ShapeDtypeStruct(shape, element, sharding=sharding())

    def rows(shape):
        return jax.ShapeDtypeStruct(shape, jnp.int32, sharding=sharding(batch, None))

    arguments = [whole(shape, functions.element) for _, shape in model.buffers()]
    arguments += [rows(shape) for _, shape in model.inputs()]
    if program == "forward":
        return (jax.jit(functions.logits, out_shardings=sharding(batch, None, axis)),
                [shapes(functions.element), *arguments])
    step = jax.jit(make_step(jax, functions),
                   out_shardings=(sharding(), split, split, split, sharding()))
    return step, [shapes(functions.element), shapes(functions.wide),
                  shapes(functions.wide), whole((), functions.wide), *arguments,
                  rows((sizes.batch, sizes.seq))]


def lowered(jax, model, program, plan, axes):
    function, arguments = jitted(jax, model, program, plan, axes)
    return function.lower(*arguments)


def devices_of_host(axes):
    """What makes XLA count as many devices; before jax is imported."""
    return {"XLA_FLAGS": f"--xla_force_host_platform_device_count={math.prod(axes.values())}",
            "JAX_PLATFORMS": "cpu"}
