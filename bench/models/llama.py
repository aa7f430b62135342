"""Llama: RMSNorm, rotary positions, grouped key/value heads, a gated feed-forward.

With isPacked the projections of queries, keys and values are one weight, `wqkv`, and
gate and up another, `w13`. With isFused attention has the form that
scaled_dot_product_attention is exported in, else the one of a model that writes it out.
"""

import layers
import operations as op
from models.modules import Modules


class Llama(Modules):
    epsilon = 1e-5

    def __init__(self, sizes, element="f32", isPacked=False, isFused=False):
        self.sizes, self.element = sizes, element
        self.isPacked, self.isFused = isPacked, isFused

    # Ports.

    def parameters(self):
        s = self.sizes
        yield "tok_embeddings.weight", (s.vocab, s.dim)
        for i in range(s.layers):
            prefix = f"layers.{i}."
            for name, shape in self.attention_parameters():
                yield prefix + "attention." + name, shape
            for name, shape in self.feed_forward_parameters():
                yield prefix + "feed_forward." + name, shape
            yield prefix + "attention_norm.weight", (s.dim,)
            yield prefix + "ffn_norm.weight", (s.dim,)
        yield "norm.weight", (s.dim,)
        yield "output.weight", (s.vocab, s.dim)

    def attention_parameters(self):
        s = self.sizes
        kv = s.kv_heads * s.head_dim
        if self.isPacked:
            yield "wqkv.weight", (s.dim + 2 * kv, s.dim)
        else:
            yield "wq.weight", (s.dim, s.dim)
            yield "wk.weight", (kv, s.dim)
            yield "wv.weight", (kv, s.dim)
        yield "wo.weight", (s.dim, s.dim)

    def feed_forward_parameters(self):
        s = self.sizes
        if self.isPacked:
            yield "w13.weight", (2 * s.ff, s.dim)
            yield "w2.weight", (s.dim, s.ff)
        else:
            yield "w1.weight", (s.ff, s.dim)
            yield "w2.weight", (s.dim, s.ff)
            yield "w3.weight", (s.ff, s.dim)

    def buffers(self):
        s = self.sizes
        yield "rope_cos", (s.seq, s.head_dim)
        yield "rope_sin", (s.seq, s.head_dim)

    def inputs(self):
        yield "tokens", (self.sizes.batch, self.sizes.seq)

    def segments(self):
        """What a packed weight's rows are made of, by the end of its name."""
        s = self.sizes
        kv = s.kv_heads * s.head_dim
        return {"wqkv.weight": [s.dim, kv, kv], "w13.weight": [s.ff, s.ff]}

    # The program.

    def logits(self, graph, values):
        self.graph, self.values = graph, values
        x = self.blocks(graph, values,
                        self.embedding("tok_embeddings", values["tokens"]))
        return self.linear("output", self.rms_norm("norm", x))

    def blocks(self, graph, values, x):
        """All layers, without what is before and behind them."""
        self.graph, self.values = graph, values
        with graph.inside("layers.0.attention"):
            mask = layers.causal_mask(graph, self.sizes.seq)
        for i in range(self.sizes.layers):
            first = x
            name = f"layers.{i}"
            y = self.attention(name + ".attention",
                               self.rms_norm(name + ".attention_norm", x), mask)
            with graph.inside(name):
                x = op.add(x, y)
            y = self.feed_forward(name + ".feed_forward",
                                  self.rms_norm(name + ".ffn_norm", x))
            with graph.inside(name):
                x = op.add(x, y)
            graph.row(name, "Block", [first], [x])
        return x

    def attention(self, name, x, mask):
        s, graph = self.sizes, self.graph
        if self.isPacked:
            packed = self.linear(name + ".wqkv", x)
            with graph.inside(name):
                q, k, v = self.queries_keys_values(packed)
        else:
            q, k, v = (self.linear(name + end, x) for end in (".wq", ".wk", ".wv"))
            with graph.inside(name):
                q, k, v = (layers.heads(q, s.heads), layers.heads(k, s.kv_heads),
                           layers.heads(v, s.kv_heads))
        with graph.inside(name):
            y = layers.attention(self.rotated(q), self.rotated(k), v, mask, self.isFused)
        y = self.linear(name + ".wo", y)
        graph.row(name, "Attention", [x], [y])
        return y

    def queries_keys_values(self, packed):
        """The heads of each."""
        s = self.sizes
        parts = op.split(packed, self.segments()["wqkv.weight"], -1)
        return [layers.heads(x, heads)
                for x, heads in zip(parts, (s.heads, s.kv_heads, s.kv_heads))]

    def gate_and_up(self, packed):
        return op.split(packed, [self.sizes.ff] * 2, -1)

    def rotated(self, x):
        left, right = op.split(x, [self.sizes.head_dim // 2] * 2, -1)
        turned = op.concatenate([op.negate(right), left], -1)
        return op.add(op.multiply(x, self.values["rope_cos"]),
                      op.multiply(turned, self.values["rope_sin"]))

    def feed_forward(self, name, x):
        if self.isPacked:
            packed = self.linear(name + ".w13", x)
            with self.graph.inside(name):
                gate, up = self.gate_and_up(packed)
                gate = layers.silu(gate)
        else:
            gate = self.linear(name + ".w1", x)
            with self.graph.inside(name):
                gate = layers.silu(gate)
            up = self.linear(name + ".w3", x)
        with self.graph.inside(name):
            y = op.multiply(gate, up)
        y = self.linear(name + ".w2", y)
        self.graph.row(name, "FeedForward", [x], [y])
        return y

    # Plans.

    def tensor_parallel(self):
        """Megatron's: (pattern, style, options) of every module that is split."""
        columns = ["attention.wqkv", "feed_forward.w13"] if self.isPacked else [
            "attention.wq", "attention.wk", "attention.wv", "feed_forward.w1",
            "feed_forward.w3"]
        yield "tok_embeddings", "rowwise", "input_layouts = [replicate]"
        for name in columns:
            yield "layers.*." + name, "colwise", ""
        yield "layers.*.attention.wo", "rowwise", ""
        yield "layers.*.feed_forward.w2", "rowwise", ""
        yield "output", "colwise", ""

    def sequence_parallel(self):
        """The same, activations between the blocks being split along the sequence."""
        whole = ("input_layouts = [shard<1>], desired_input_layouts = [replicate]")
        outputs = {"tok_embeddings": ", output_layouts = [shard<1>]",
                   "layers.*.attention.wo": "output_layouts = [shard<1>]",
                   "layers.*.feed_forward.w2": "output_layouts = [shard<1>]",
                   "output": "input_layouts = [shard<1>]"}
        for name, style, options in self.tensor_parallel():
            yield name, style, options + outputs.get(name, "")
        for name in ("layers.*.attention_norm", "layers.*.ffn_norm", "norm"):
            yield name, "sequence_parallel", ""
        for name in ("layers.*.attention", "layers.*.feed_forward"):
            yield name, "prepare_module_input", whole
