"""A Llama whose feed-forward is a mixture of experts, all of them dense: every token
goes through every expert, and the router's softmax weighs what comes out."""

import math

import layers
import operations as op
import plans
from models.llama import Llama


class MixtureOfExperts(Llama):
    def feed_forward_parameters(self):
        s = self.sizes
        yield "router.weight", (s.experts, s.dim)
        yield "experts.w1.weight", (s.experts, s.ff, s.dim)
        yield "experts.w2.weight", (s.experts, s.dim, s.ff)
        yield "experts.w3.weight", (s.experts, s.ff, s.dim)

    def expert(self, name, x):
        """x: [experts, tokens, in]"""
        with self.graph.inside(name):
            y = op.batch_matmul(x, op.transpose(self.values[name + ".weight"], [0, 2, 1]))
        self.graph.row(name, "BatchedLinear", [x], [y])
        return y

    def feed_forward(self, name, x):
        graph, s = self.graph, self.sizes
        tokens = math.prod(x.shape[:-1])
        scores = self.linear(name + ".router", x)
        with graph.inside(name):
            scores = op.reshape(scores, (tokens, s.experts))
            weights = op.cast(layers.softmax(op.cast(scores, graph.wide)), x.element)
            each = op.expand(op.reshape(x, (1, tokens, s.dim)),
                             (s.experts, tokens, s.dim))
        gate = self.expert(name + ".experts.w1", each)
        up = self.expert(name + ".experts.w3", each)
        with graph.inside(name + ".experts"):
            y = op.multiply(layers.silu(gate), up)
        y = self.expert(name + ".experts.w2", y)
        with graph.inside(name):
            weights = op.reshape(op.transpose(weights, [1, 0]), (s.experts, tokens, 1))
            y = op.reshape(op.sum_of(op.multiply(y, weights), [0]), x.shape)
        graph.row(name, "MixtureOfExperts", [x], [y])
        return y

    def tensor_parallel(self):
        """Every expert's inner width is split; the router is not."""
        for name, style, options in super().tensor_parallel():
            if "feed_forward" not in name:
                yield name, style, options
        yield "layers.*.feed_forward.experts.w1.weight", plans.PARAMETER, "1"
        yield "layers.*.feed_forward.experts.w3.weight", plans.PARAMETER, "1"
        yield "layers.*.feed_forward.experts.w2.weight", plans.PARAMETER, "2"
        yield ("layers.*.feed_forward", "prepare_module_output",
               "output_layouts = [none], desired_output_layouts = [replicate]")

    def sequence_parallel(self):
        for name, style, options in super().sequence_parallel():
            if style == "prepare_module_output":
                options = options.replace("replicate", "shard<1>")
            yield name, style, options
