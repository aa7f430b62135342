"""AdamW with decoupled weight decay, one parameter after the other, as torch's
single-tensor implementation is traced. The state is kept in the graph's wide type."""

import dataclasses

import operations as op

OPTIMIZER = "<optim>"


@dataclasses.dataclass(frozen=True)
class AdamW:
    rate: float = 1e-2
    beta1: float = 0.9
    beta2: float = 0.95
    epsilon: float = 1e-8
    decay: float = 0.1

    def corrections(self, step):
        """The next step's number, and what both moments are divided by in it."""
        graph = step.graph
        one = graph.constant(1.0, step.element)
        with graph.inside(OPTIMIZER):
            step = op.with_number("arith.addf", "add", step, 1.0)
            return [step] + [
                op.elementwise("sub", [op.elementwise("pow", [step], [
                    f"%p = math.powf {graph.constant(beta, step.element)}, %i0 : {{t}}",
                    "%p"])], [f"%p = arith.subf {one}, %i0 : {{t}}", "%p"])
                for beta in (self.beta1, self.beta2)]

    def update(self, name, parameter, gradient, first, second, corrections):
        """The updated parameter and moments."""
        graph = parameter.graph
        with graph.inside(f"{OPTIMIZER}.{name}"):
            gradient = op.cast(gradient, graph.wide)
            first = op.add(op.scale(first, self.beta1),
                           op.scale(gradient, 1.0 - self.beta1))
            second = op.add(op.scale(second, self.beta2), op.scale(
                op.multiply(gradient, gradient), 1.0 - self.beta2))
            decayed = op.scale(op.cast(parameter, graph.wide),
                               1.0 - self.rate * self.decay)
            numerator = op.scale(_divide(first, corrections[0]), self.rate)
            root = op.unary("math.sqrt", "sqrt", _divide(second, corrections[1]))
            change = _divide(numerator, op.add_number(root, self.epsilon))
            updated = op.cast(op.subtract(decayed, change), parameter.element)
        return updated, first, second


def _divide(a, b):
    return op.binary("arith.divf", "div", a, b)
