"""BERT with its masked-language-model head, in Hugging Face's names: attention in both
directions, LayerNorm after the residual sums, biases, three embeddings, a decoder that
is the word embedding."""

import layers
import operations as op
import plans
from models.modules import Modules


class Bert(Modules):
    epsilon = 1e-12

    def __init__(self, sizes, element="f32", isPacked=False, isFused=False):
        self.sizes, self.element, self.isFused = sizes, element, isFused

    # Ports.

    def parameters(self):
        s = self.sizes
        embeddings = "bert.embeddings."
        yield embeddings + "word_embeddings.weight", (s.vocab, s.dim)
        yield embeddings + "position_embeddings.weight", (s.positions, s.dim)
        yield embeddings + "token_type_embeddings.weight", (2, s.dim)
        yield from self.with_bias(embeddings + "LayerNorm", s.dim)
        for i in range(s.layers):
            prefix = f"bert.encoder.layer.{i}."
            for name in ("query", "key", "value"):
                yield from self.with_bias(prefix + "attention.self." + name, s.dim, s.dim)
            yield from self.with_bias(prefix + "attention.output.dense", s.dim, s.dim)
            yield from self.with_bias(prefix + "attention.output.LayerNorm", s.dim)
            yield from self.with_bias(prefix + "intermediate.dense", s.ff, s.dim)
            yield from self.with_bias(prefix + "output.dense", s.dim, s.ff)
            yield from self.with_bias(prefix + "output.LayerNorm", s.dim)
        head = "cls.predictions."
        yield from self.with_bias(head + "transform.dense", s.dim, s.dim)
        yield from self.with_bias(head + "transform.LayerNorm", s.dim)
        yield head + "decoder.bias", (s.vocab,)

    @staticmethod
    def with_bias(name, *shape):
        yield name + ".weight", shape
        yield name + ".bias", shape[:1]

    def buffers(self):
        return ()

    def inputs(self):
        yield "input_ids", (self.sizes.batch, self.sizes.seq)
        yield "token_type_ids", (self.sizes.batch, self.sizes.seq)

    def segments(self):
        return {}

    # The program.

    def logits(self, graph, values):
        self.graph, self.values = graph, values
        x = self.embeddings("bert.embeddings")
        for i in range(self.sizes.layers):
            name, first = f"bert.encoder.layer.{i}", x
            y = self.attention(name + ".attention.self", x)
            x = self.sum_and_norm(name + ".attention.output", x, y)
            y = self.linear(name + ".intermediate.dense", x)
            with graph.inside(name + ".intermediate"):
                y = layers.gelu(y)
            x = self.sum_and_norm(name + ".output", x, y)
            graph.row(name, "BertLayer", [first], [x])
        head = "cls.predictions"
        y = self.linear(head + ".transform.dense", x)
        with graph.inside(head + ".transform"):
            y = layers.gelu(y)
        y = self.layer_norm(head + ".transform.LayerNorm", y)
        with graph.inside(head + ".decoder"):
            logits = layers.linear(
                y, values["bert.embeddings.word_embeddings.weight"],
                values[head + ".decoder.bias"])
        graph.row(head + ".decoder", "Linear", [y], [logits])
        return logits

    def embeddings(self, name):
        graph, tokens = self.graph, self.values["input_ids"]
        with graph.inside(name):
            numbers = layers.positions(graph, self.sizes.seq)
            numbers = op.reshape(numbers, (1, self.sizes.seq))
        words = self.embedding(name + ".word_embeddings", tokens)
        types = self.embedding(name + ".token_type_embeddings",
                               self.values["token_type_ids"])
        positions = self.embedding(name + ".position_embeddings", numbers)
        with graph.inside(name):
            x = op.add(op.add(words, types), positions)
        x = self.layer_norm(name + ".LayerNorm", x)
        graph.row(name, "BertEmbeddings", [tokens, self.values["token_type_ids"]], [x])
        return x

    def attention(self, name, x):
        q, k, v = (self.linear(f"{name}.{part}", x)
                   for part in ("query", "key", "value"))
        with self.graph.inside(name):
            q, k, v = (layers.heads(part, self.sizes.heads) for part in (q, k, v))
            y = layers.attention(q, k, v, isFused=self.isFused)
        self.graph.row(name, "BertSelfAttention", [x], [y])
        return y

    def sum_and_norm(self, name, x, y):
        first, y = y, self.linear(name + ".dense", y)
        with self.graph.inside(name):
            y = op.add(y, x)
        y = self.layer_norm(name + ".LayerNorm", y)
        self.graph.row(name, "BertOutput", [first, x], [y])
        return y

    # Plans.

    def tensor_parallel(self):
        layer = "bert.encoder.layer.*."
        yield "bert.embeddings.word_embeddings", "rowwise", "input_layouts = [replicate]"
        for name in ("query", "key", "value"):
            yield f"{layer}attention.self.{name}", "colwise", ""
        yield layer + "attention.output.dense", "rowwise", ""
        yield layer + "intermediate.dense", "colwise", ""
        yield layer + "output.dense", "rowwise", ""
        # Its weight is the word embedding, split above.
        yield "cls.predictions.decoder.bias", plans.PARAMETER, "0"

    def sequence_parallel(self):
        layer = "bert.encoder.layer.*."
        split = "output_layouts = [shard<1>]"
        outside = "input_layouts = [shard<1>]"
        options = {
            "bert.embeddings.word_embeddings": "input_layouts = [replicate], " + split,
            layer + "attention.output.dense": split, layer + "output.dense": split,
            layer + "intermediate.dense": outside}
        for name, style, given in self.tensor_parallel():
            yield name, style, options.get(name, given)
        for name in ("bert.embeddings.LayerNorm", layer + "attention.output.LayerNorm",
                     layer + "output.LayerNorm", "cls.predictions.transform.LayerNorm"):
            yield name, "sequence_parallel", ""
        yield layer + "attention.self", "prepare_module_input", (
            "input_layouts = [shard<1>], desired_input_layouts = [replicate]")
