"""Reverse-mode differentiation of a graph."""

import operations as op


def common_module(modules):
    """The innermost module that all of them are in."""
    paths = [module.split(".") for module in modules]
    common = []
    for parts in zip(*paths):
        if len(set(parts)) > 1:
            break
        common.append(parts[0])
    return ".".join(common)


class Gradients:
    """Contributions to the gradient of every value, added up when they are asked for:
    one add per fork, in the order in which they arise."""

    def __init__(self, graph):
        self.graph, self.contributions = graph, {}

    def give(self, value, gradient, module):
        self.contributions.setdefault(value.name, []).append((gradient, module))

    def of(self, value):
        given = self.contributions.get(value.name)
        if not given:
            return None
        total, module = given[0]
        for gradient, other in given[1:]:
            module = common_module([module, other])
            with self.graph.inside("bwd:" + module):
                total = op.add(total, gradient)
        self.contributions[value.name] = [(total, module)]
        return total


def gradients_of(loss, parameters):
    """The gradient of `loss`, a scalar, with respect to every parameter."""
    graph = loss.graph
    tape, graph.tape = graph.tape, []
    gradients = Gradients(graph)
    gradients.give(loss, graph.fill(1.0, (), loss.element, graph.node("full_like")),
                   "<loss>")
    for entry in reversed(tape):
        results = [gradients.of(value) for value in entry.results]
        if not any(results):
            continue
        with graph.inside("bwd:" + entry.module):
            parts = entry.vjp(results)
        for value, part in zip(entry.operands, parts):
            if part is not None and value.hasGradient:
                gradients.give(value, part, entry.module)
    # What was recorded meanwhile are derivatives of derivatives.
    graph.tape = tape
    return [gradients.of(parameter) for parameter in parameters]
