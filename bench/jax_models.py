"""The Llama and GPT-2 of bench/models in JAX: logits, and training steps with AdamW.
Lowered from shapes alone, layers unrolled, with the layouts of a plan of bench/plans.py.
"""

import math

import adamw
import plans
import training_step

ELEMENTS = {"f32": "float32", "bf16": "bfloat16"}


class Functions:
    """What the models are made of. `constrain` is put on every residual, `gather` on what
    attention and feed-forward take."""

    def __init__(self, jax, model, constrain, gather):
        self.jnp, self.lax, self.stop = jax.numpy, jax.lax, jax.lax.stop_gradient
        self.model, self.sizes = model, model.sizes
        self.constrain, self.gather = constrain, gather
        self.element = getattr(jax.numpy, ELEMENTS[model.element])

    def linear(self, x, weight):
        """Weights are [out, in], as torch's."""
        return self.lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))

    def heads(self, x, count):
        s = self.sizes
        return x.reshape(s.batch, s.seq, count, s.head_dim).transpose(0, 2, 1, 3)

    def mask(self):
        jnp, lax, s = self.jnp, self.lax, self.sizes
        row = lax.broadcasted_iota(jnp.int32, (s.seq, s.seq), 0)
        column = lax.broadcasted_iota(jnp.int32, (s.seq, s.seq), 1)
        return lax.select(column <= row, jnp.zeros((s.seq, s.seq), jnp.float32),
                          jnp.full((s.seq, s.seq), -jnp.inf, jnp.float32))

    def attend(self, q, k, v, mask):
        """[batch, heads, sequence, size], fewer key/value heads being repeated."""
        jnp, lax, s = self.jnp, self.lax, self.sizes
        spread = (s.batch, s.heads, s.seq, s.head_dim)
        shape = (s.batch, k.shape[1], s.heads // k.shape[1], s.seq, s.head_dim)
        k, v = (lax.broadcast_in_dim(t, shape, (0, 1, 3, 4)).reshape(spread)
                for t in (k, v))
        scores = lax.dot_general(q, k, (((3,), (3,)), ((0, 1), (0, 1))))
        scores = scores.astype(jnp.float32) * (s.head_dim ** -0.5) + mask
        scores = jnp.exp(scores - self.stop(scores.max(-1, keepdims=True)))
        scores = (scores / scores.sum(-1, keepdims=True)).astype(self.element)
        y = lax.dot_general(scores, v, (((3,), (2,)), ((0, 1), (0, 1))))
        return y.transpose(0, 2, 1, 3).reshape(s.batch, s.seq, s.dim)

    def rows(self, table, indices):
        return table.at[indices].get(mode="promise_in_bounds")

    def cross_entropy(self, logits, labels):
        jnp, lax = self.jnp, self.lax
        logits = logits.astype(jnp.float32)
        logits = logits - self.stop(logits.max(-1, keepdims=True))
        sums = jnp.log(jnp.exp(logits).sum(-1))
        classes = lax.broadcasted_iota(jnp.int32, logits.shape, 2)
        picked = lax.select(classes == lax.broadcast_in_dim(labels, logits.shape, (0, 1)),
                            logits, jnp.zeros_like(logits)).sum(-1)
        return (sums - picked).mean()


class Llama(Functions):
    def norm(self, x, weight):
        jnp, lax = self.jnp, self.lax
        wide = x.astype(jnp.float32)
        mean = jnp.mean(lax.mul(wide, wide), axis=-1, keepdims=True)
        return (wide * lax.rsqrt(mean + self.model.epsilon)).astype(self.element) * weight

    def rotated(self, x, cos, sin):
        half = self.sizes.head_dim // 2
        turned = self.jnp.concatenate([-x[..., half:], x[..., :half]], axis=-1)
        return x * cos + turned * sin

    def attention(self, p, prefix, x, cos, sin, mask):
        s = self.sizes
        q = self.rotated(self.heads(self.linear(x, p[prefix + "wq.weight"]), s.heads),
                         cos, sin)
        k = self.rotated(self.heads(self.linear(x, p[prefix + "wk.weight"]), s.kv_heads),
                         cos, sin)
        v = self.heads(self.linear(x, p[prefix + "wv.weight"]), s.kv_heads)
        return self.linear(self.attend(q, k, v, mask), p[prefix + "wo.weight"])

    def logits(self, p, cos, sin, tokens):
        mask = self.mask()
        x = self.constrain(self.rows(p["tok_embeddings.weight"], tokens))
        for i in range(self.sizes.layers):
            at = f"layers.{i}."
            y = self.gather(self.norm(x, p[at + "attention_norm.weight"]))
            x = self.constrain(x + self.attention(p, at + "attention.", y, cos, sin, mask))
            y = self.gather(self.norm(x, p[at + "ffn_norm.weight"]))
            gate = self.linear(y, p[at + "feed_forward.w1.weight"])
            gate = gate * self.lax.logistic(gate)
            y = self.linear(gate * self.linear(y, p[at + "feed_forward.w3.weight"]),
                            p[at + "feed_forward.w2.weight"])
            x = self.constrain(x + y)
        return self.linear(self.norm(x, p["norm.weight"]), p["output.weight"])


class GPT2(Functions):
    def norm(self, x, weight, bias):
        jnp, lax = self.jnp, self.lax
        wide = x.astype(jnp.float32)
        centered = wide - jnp.mean(wide, axis=-1, keepdims=True)
        inverse = lax.rsqrt(jnp.mean(centered * centered, axis=-1, keepdims=True) +
                            self.model.epsilon)
        return (centered * inverse).astype(self.element) * weight + bias

    def conv1d(self, p, name, x):
        """Weights are [in, out], of packed ones [in, parts, out]."""
        return self.jnp.tensordot(x, p[name + ".weight"], 1) + p[name + ".bias"]

    def logits(self, p, tokens):
        jnp, s, mask = self.jnp, self.sizes, self.mask()
        table = p["transformer.wte.weight"]
        positions = p["transformer.wpe.weight"][:s.seq]
        x = self.constrain(self.rows(table, tokens) + positions)

        def norm(name, x):
            return self.norm(x, p[name + ".weight"], p[name + ".bias"])

        for i in range(s.layers):
            at = f"transformer.h.{i}."
            y = self.conv1d(p, at + "attn.c_attn", self.gather(norm(at + "ln_1", x)))
            q, k, v = (self.heads(y[:, :, part], s.heads) for part in range(3))
            y = self.conv1d(p, at + "attn.c_proj", self.attend(q, k, v, mask))
            x = self.constrain(x + y)
            y = self.conv1d(p, at + "mlp.c_fc", self.gather(norm(at + "ln_2", x)))
            y = 0.5 * y * (1 + jnp.tanh(0.7978845608 * (y + 0.044715 * y * y * y)))
            x = self.constrain(x + self.conv1d(p, at + "mlp.c_proj", y))
        return self.linear(norm("transformer.ln_f", x), table)


FUNCTIONS = {"Llama": Llama, "GPT2": GPT2}


def shapes_and_layouts(model, axis, plan):
    """Of every parameter's value: its name, shape, and the axis that splits each
    dimension. Packed parts of equal size are a dimension."""
    entries = list(getattr(model, plan.replace("-", "_"))())
    classes = {name: kind for name, kind, *_ in training_step.forward(model).rows}
    for name, shape in model.parameters():
        dim = plans.split_dimension(name, entries, classes)
        parts = [sizes for end, sizes in model.segments().items() if name.endswith(end)]
        if parts:
            shape = shape[:-1] + (len(parts[0]), parts[0][0])
            dim = len(shape) - 1
        yield name, shape, tuple(axis if i == dim else None for i in range(len(shape)))


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
            g = gradients[name].astype(jnp.float32)
            m = first[name] * optimizer.beta1 + g * (1 - optimizer.beta1)
            v = second[name] * optimizer.beta2 + g * g * (1 - optimizer.beta2)
            decayed = weight.astype(jnp.float32) * (1 - optimizer.rate * optimizer.decay)
            change = (m / corrections[0] * optimizer.rate
                      / (jax.lax.sqrt(v / corrections[1]) + optimizer.epsilon))
            for to, made in zip(new, ((decayed - change).astype(functions.element), m, v)):
                to[name] = made
        return (value, *new, number)

    return step


def lowered(jax, model, program, plan, axes):
    """program: "forward" or "training"; axes: name to size, the last one being split over
    by `plan`, a first one splitting the batch."""
    sizes, jnp = model.sizes, jax.numpy
    mesh = jax.make_mesh(tuple(axes.values()), tuple(axes),
                         devices=jax.devices()[:math.prod(axes.values())])
    batch = next(iter(axes)) if len(axes) > 1 else None
    axis = list(axes)[-1]

    def sharding(*dims):
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*dims))

    def to(*dims):
        if plan != "sequence-parallel":
            return lambda x: x
        return lambda x: jax.lax.with_sharding_constraint(x, sharding(*dims))

    functions = FUNCTIONS[type(model).__name__](
        jax, model, to(batch, axis, None), to(batch, None, None))
    parameters = {name: (shape, sharding(*dims)) for name, shape, dims
                  in shapes_and_layouts(model, axis, plan)}
    split = {name: layout for name, (_, layout) in parameters.items()}

    def shapes(element):
        return {name: jax.ShapeDtypeStruct(shape, element, sharding=layout)
                for name, (shape, layout) in parameters.items()}

    def whole(shape, element):
        return jax.ShapeDtypeStruct(shape, element, sharding=sharding())

    tokens = jax.ShapeDtypeStruct((sizes.batch, sizes.seq), jnp.int32,
                                  sharding=sharding(batch, None))
    arguments = [whole(shape, functions.element) for _, shape in model.buffers()]
    arguments.append(tokens)
    if program == "forward":
        return jax.jit(functions.logits, out_shardings=sharding(batch, None, axis)).lower(
            shapes(functions.element), *arguments)
    step = jax.jit(make_step(jax, functions),
                   out_shardings=(sharding(), split, split, split, sharding()))
    return step.lower(shapes(functions.element), shapes(jnp.float32), shapes(jnp.float32),
                      whole((), jnp.float32), *arguments, tokens)


def devices_of_host(axes):
    """What makes XLA count as many devices; before jax is imported."""
    return {"XLA_FLAGS": f"--xla_force_host_platform_device_count={math.prod(axes.values())}",
            "JAX_PLATFORMS": "cpu"}
