"""GPT-2, in Hugging Face's names: LayerNorm before the blocks, one packed projection of
queries, keys and values with a bias, learned positions, a head that is the embedding."""

import layers
import operations as op
from models.modules import Modules


class GPT2(Modules):
    epsilon = 1e-5

    def __init__(self, sizes, element="f32", isPacked=False, isFused=False):
        self.sizes, self.element, self.isFused = sizes, element, isFused

    # Ports.

    def parameters(self):
        s = self.sizes
        yield "transformer.wte.weight", (s.vocab, s.dim)
        yield "transformer.wpe.weight", (s.positions, s.dim)
        for i in range(s.layers):
            prefix = f"transformer.h.{i}."
            yield from self.with_bias(prefix + "ln_1", s.dim)
            yield from self.with_bias(prefix + "attn.c_attn", s.dim, 3 * s.dim)
            yield from self.with_bias(prefix + "attn.c_proj", s.dim, s.dim)
            yield from self.with_bias(prefix + "ln_2", s.dim)
            yield from self.with_bias(prefix + "mlp.c_fc", s.dim, s.ff)
            yield from self.with_bias(prefix + "mlp.c_proj", s.ff, s.dim)
        yield from self.with_bias("transformer.ln_f", s.dim)

    @staticmethod
    def with_bias(name, *shape):
        yield name + ".weight", shape
        yield name + ".bias", shape[-1:]

    def buffers(self):
        return ()

    def inputs(self):
        yield "input_ids", (self.sizes.batch, self.sizes.seq)

    def segments(self):
        return {"c_attn.weight": [self.sizes.dim] * 3,
                "c_attn.bias": [self.sizes.dim] * 3}

    # The program.

    def logits(self, graph, values):
        self.graph, self.values = graph, values
        tokens = values["input_ids"]
        with graph.inside("transformer"):
            numbers = layers.positions(graph, self.sizes.seq)
            numbers = op.reshape(numbers, (1, self.sizes.seq))
            mask = layers.causal_mask(graph, self.sizes.seq)
        x = self.embedding("transformer.wte", tokens)
        positions = self.embedding("transformer.wpe", numbers)
        with graph.inside("transformer"):
            x = op.add(x, positions)
        for i in range(self.sizes.layers):
            first = x
            name = f"transformer.h.{i}"
            y = self.attention(name + ".attn", self.layer_norm(name + ".ln_1", x), mask)
            with graph.inside(name):
                x = op.add(y, x)
            y = self.feed_forward(name + ".mlp", self.layer_norm(name + ".ln_2", x))
            with graph.inside(name):
                x = op.add(x, y)
            graph.row(name, "GPT2Block", [first], [x])
        x = self.layer_norm("transformer.ln_f", x)
        graph.row("transformer", "GPT2Model", [tokens], [x])
        with graph.inside("lm_head"):
            y = layers.linear(x, values["transformer.wte.weight"])
        graph.row("lm_head", "Linear", [x], [y])
        return y

    def attention(self, name, x, mask):
        count = self.sizes.heads
        packed = self.conv1d(name + ".c_attn", x)
        with self.graph.inside(name):
            q, k, v = (layers.heads(part, count)
                       for part in op.split(packed, [self.sizes.dim] * 3, -1))
            y = layers.attention(q, k, v, mask, self.isFused)
        y = self.conv1d(name + ".c_proj", y)
        self.graph.row(name, "GPT2Attention", [x], [y])
        return y

    def feed_forward(self, name, x):
        y = self.conv1d(name + ".c_fc", x)
        with self.graph.inside(name + ".act"):
            y = layers.gelu_tanh(y)
        y = self.conv1d(name + ".c_proj", y)
        self.graph.row(name, "GPT2MLP", [x], [y])
        return y

    # Plans.

    def tensor_parallel(self):
        yield "transformer.wte", "rowwise", "input_layouts = [replicate]"
        yield "transformer.h.*.attn.c_attn", "colwise", ""
        yield "transformer.h.*.attn.c_proj", "rowwise", ""
        yield "transformer.h.*.mlp.c_fc", "colwise", ""
        yield "transformer.h.*.mlp.c_proj", "rowwise", ""
        yield "lm_head", "colwise", ""

    def sequence_parallel(self):
        split = "output_layouts = [shard<1>]"
        options = {"transformer.wte": "input_layouts = [replicate], " + split,
                   "transformer.h.*.attn.c_proj": split,
                   "transformer.h.*.mlp.c_proj": split,
                   "lm_head": "input_layouts = [shard<1>]"}
        for name, style, given in self.tensor_parallel():
            yield name, style, options.get(name, given)
        for name in ("transformer.h.*.ln_1", "transformer.h.*.ln_2", "transformer.ln_f"):
            yield name, "sequence_parallel", ""
        for name in ("transformer.h.*.attn", "transformer.h.*.mlp"):
            yield name, "prepare_module_input", (
                "input_layouts = [shard<1>], desired_input_layouts = [replicate]")
