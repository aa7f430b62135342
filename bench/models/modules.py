"""The modules that the models here are made of: each reads its parameters by its name
and notes in the table of modules what goes into it and comes out."""

import layers


class Modules:
    """Of a model that has set self.graph, self.values (its tensors by name) and what
    norms add to a variance, self.epsilon."""

    def module(self, name, kind, x, function):
        """What `function` makes of x and the module's weight and bias, if it has one."""
        weight, bias = self.values[name + ".weight"], self.values.get(name + ".bias")
        with self.graph.inside(name):
            y = function(x, weight, bias)
        self.graph.row(name, kind, [x], [y])
        return y

    def embedding(self, name, indices):
        return self.module(name, "Embedding", indices,
                           lambda x, weight, _: layers.embedding(weight, x))

    def linear(self, name, x):
        return self.module(name, "Linear", x, layers.linear)

    def conv1d(self, name, x):
        """A linear layer whose weight is [in, out]."""
        return self.module(name, "Conv1D", x, lambda x, weight, bias: layers.linear(
            x, weight, bias, isTransposed=False))

    def layer_norm(self, name, x):
        return self.module(name, "LayerNorm", x, lambda x, weight, bias: (
            layers.layer_norm(x, weight, bias, self.epsilon)))

    def rms_norm(self, name, x):
        return self.module(name, "RMSNorm", x, lambda x, weight, _: (
            layers.rms_norm(x, weight, self.epsilon)))
