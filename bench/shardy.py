"""CPU time that Shardy's propagation takes for the Llama of bench/models/llama.py: a
training step written in JAX, lowered from shapes alone, layers unrolled as they are there.

    PYTHON bench/shardy.py --layers=2 --mesh=tp=8 --plan=sequence-parallel [sizes]

PYTHON has jax and jaxlib (docs/benchmarks.md). Prints JSON: `lower` and `propagation` in
CPU seconds, of all threads; `ops` of the module; `peak_bytes` of the process.
"""

import argparse
import json
import os
import resource
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import adamw
import plans
from models import llama, sizes as model_sizes


def shardings(model, axis, plan):
    """The dimension that `axis` splits of a parameter's value, by name."""
    entries = list(getattr(model, plan)())
    classes = {name.rpartition(".")[0]: "Embedding" if "embed" in name else "Linear"
               for name, _ in model.parameters()}
    for name, shape in model.parameters():
        dim = plans.split_dimension(name, entries, classes)
        yield name, tuple(axis if i == dim else None for i in range(len(shape)))


def make_step(jax, model, constrain, gather):
    """Loss, gradients and AdamW's update. `constrain` is put on every residual, `gather`
    on what attention and feed-forward take."""
    jnp, lax, s = jax.numpy, jax.lax, model.sizes
    f32, bf16 = jnp.float32, jnp.bfloat16

    def rms_norm(x, weight):
        wide = x.astype(f32)
        mean = jnp.mean(lax.mul(wide, wide), axis=-1, keepdims=True)
        return (wide * lax.rsqrt(mean + model.epsilon)).astype(bf16) * weight

    def linear(x, weight):
        # Weights are [out, in], as torch's.
        return lax.dot_general(x, weight, (((x.ndim - 1,), (1,)), ((), ())))

    def heads(x, count):
        return x.reshape(s.batch, s.seq, count, s.head_dim).transpose(0, 2, 1, 3)

    def rotated(x, cos, sin):
        half = s.head_dim // 2
        turned = jnp.concatenate([-x[..., half:], x[..., :half]], axis=-1)
        return x * cos + turned * sin

    def attention(p, prefix, x, cos, sin, mask):
        q = rotated(heads(linear(x, p[prefix + "wq.weight"]), s.heads), cos, sin)
        k = rotated(heads(linear(x, p[prefix + "wk.weight"]), s.kv_heads), cos, sin)
        v = heads(linear(x, p[prefix + "wv.weight"]), s.kv_heads)
        group = s.heads // s.kv_heads
        shape = (s.batch, s.kv_heads, group, s.seq, s.head_dim)
        spread = (s.batch, s.heads, s.seq, s.head_dim)
        k, v = (lax.broadcast_in_dim(t, shape, (0, 1, 3, 4)).reshape(spread)
                for t in (k, v))
        scores = lax.dot_general(q, k, (((3,), (3,)), ((0, 1), (0, 1)))).astype(f32)
        scores = scores * (s.head_dim ** -0.5) + mask
        scores = jnp.exp(scores - lax.stop_gradient(scores.max(-1, keepdims=True)))
        scores = (scores / scores.sum(-1, keepdims=True)).astype(bf16)
        y = lax.dot_general(scores, v, (((3,), (2,)), ((0, 1), (0, 1))))
        y = y.transpose(0, 2, 1, 3).reshape(s.batch, s.seq, s.dim)
        return linear(y, p[prefix + "wo.weight"])

    def loss(p, cos, sin, tokens, labels):
        row = lax.broadcasted_iota(jnp.int32, (s.seq, s.seq), 0)
        column = lax.broadcasted_iota(jnp.int32, (s.seq, s.seq), 1)
        mask = lax.select(column <= row, jnp.zeros((s.seq, s.seq), f32),
                          jnp.full((s.seq, s.seq), -jnp.inf, f32))
        x = constrain(p["tok_embeddings.weight"].at[tokens].get(
            mode="promise_in_bounds"))
        for i in range(s.layers):
            at = f"layers.{i}."
            y = gather(rms_norm(x, p[at + "attention_norm.weight"]))
            x = constrain(x + attention(p, at + "attention.", y, cos, sin, mask))
            y = gather(rms_norm(x, p[at + "ffn_norm.weight"]))
            gate = linear(y, p[at + "feed_forward.w1.weight"])
            gate = gate * lax.logistic(gate)
            y = linear(gate * linear(y, p[at + "feed_forward.w3.weight"]),
                       p[at + "feed_forward.w2.weight"])
            x = constrain(x + y)
        logits = linear(rms_norm(x, p["norm.weight"]), p["output.weight"])
        logits = logits.astype(f32)
        logits = logits - lax.stop_gradient(logits.max(-1, keepdims=True))
        sums = jnp.log(jnp.exp(logits).sum(-1))
        classes = lax.broadcasted_iota(jnp.int32, logits.shape, 2)
        picked = lax.select(classes == lax.broadcast_in_dim(labels, logits.shape, (0, 1)),
                            logits, jnp.zeros_like(logits)).sum(-1)
        return (sums - picked).mean()

    optimizer = adamw.AdamW()

    def step(p, first, second, number, cos, sin, tokens, labels):
        value, gradients = jax.value_and_grad(loss)(p, cos, sin, tokens, labels)
        number = number + 1
        corrections = [1 - beta ** number for beta in (optimizer.beta1, optimizer.beta2)]
        new = [{}, {}, {}]
        for name, weight in p.items():
            g = gradients[name].astype(f32)
            m = first[name] * optimizer.beta1 + g * (1 - optimizer.beta1)
            v = second[name] * optimizer.beta2 + g * g * (1 - optimizer.beta2)
            decayed = weight.astype(f32) * (1 - optimizer.rate * optimizer.decay)
            change = (m / corrections[0] * optimizer.rate
                      / (lax.sqrt(v / corrections[1]) + optimizer.epsilon))
            for to, made in zip(new, ((decayed - change).astype(bf16), m, v)):
                to[name] = made
        return (value, *new, number)

    return step


def lowered(jax, options):
    sizes = model_sizes.of_arguments(options)
    model = llama.Llama(sizes, "bf16")
    axes = plans.axes_of(options.mesh)
    mesh = jax.make_mesh(tuple(axes.values()), tuple(axes))
    batch = next(iter(axes)) if len(axes) > 1 else None
    axis = list(axes)[-1]
    isSequence = options.plan == "sequence-parallel"

    def sharding(*dims):
        return jax.sharding.NamedSharding(mesh, jax.sharding.PartitionSpec(*dims))

    def to(*dims):
        if not isSequence:
            return lambda x: x
        return lambda x: jax.lax.with_sharding_constraint(x, sharding(*dims))

    jnp = jax.numpy
    split = {name: sharding(*dims) for name, dims
             in shardings(model, axis, options.plan.replace("-", "_"))}
    rows = sharding(batch, None)

    def shapes(element):
        return {name: jax.ShapeDtypeStruct(shape, element, sharding=split[name])
                for name, shape in model.parameters()}

    def whole(shape, element):
        return jax.ShapeDtypeStruct(shape, element, sharding=sharding())

    tokens = jax.ShapeDtypeStruct((sizes.batch, sizes.seq), jnp.int32, sharding=rows)
    tables = [whole((sizes.seq, sizes.head_dim), jnp.bfloat16)] * 2
    step = jax.jit(make_step(jax, model, to(batch, axis, None), to(batch, None, None)),
                   out_shardings=(sharding(), split, split, split, sharding()))
    return step.lower(shapes(jnp.bfloat16), shapes(jnp.float32), shapes(jnp.float32),
                      whole((), jnp.float32), *tables, tokens, tokens)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mesh", default="tp=8")
    parser.add_argument("--plan", default="tensor-parallel",
                        choices=["tensor-parallel", "sequence-parallel"])
    parser.add_argument("--write", help="write the module as lowered and as propagated to "
                        "this folder")
    model_sizes.add_arguments(parser)
    options = parser.parse_args()
    ranks = 1
    for size in plans.axes_of(options.mesh).values():
        ranks *= size
    # Shapes are all that is lowered; the devices are only counted.
    os.environ["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={ranks}"
    os.environ["JAX_PLATFORMS"] = "cpu"
    import jax
    from jaxlib.mlir import ir, passmanager

    jax.config.update("jax_use_shardy_partitioner", True)
    begin = time.process_time()
    module = lowered(jax, options).compiler_ir("stablehlo")
    lowering = time.process_time() - begin

    def write(name):
        if options.write:
            os.makedirs(options.write, exist_ok=True)
            with open(os.path.join(options.write, name), "w") as file:
                module.operation.print(file=file, assume_verified=True)

    calls, ops = 0, 0

    def count(op):
        nonlocal calls, ops
        ops += 1
        calls += op.name == "func.call"
        return ir.WalkResult.ADVANCE

    module.operation.walk(count)
    if calls:
        raise SystemExit(f"error: expected one function, got {calls} calls; Shardy sees "
                         "into no calls")
    write("lowered.mlir")
    with module.context:
        manager = passmanager.PassManager.parse("builtin.module(sdy-propagation-pipeline)")
        begin = time.process_time()
        manager.run(module.operation)
        propagation = time.process_time() - begin
    write("propagated.mlir")
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(json.dumps({"jax": jax.__version__, "layers": options.layers,
                      "lower": lowering, "propagation": propagation, "ops": ops,
                      "peak_bytes": used.ru_maxrss * 1024}))


if __name__ == "__main__":
    main()
