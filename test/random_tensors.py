"""Tensors of random programs that Python evaluates element by element."""
import itertools


def indices(shape):
    return itertools.product(*(range(n) for n in shape))


class Tensor:
    """A tensor of f32: its name in the program, and its shape."""

    def __init__(self, name, shape):
        self.name, self.shape = name, tuple(shape)

    @property
    def type(self):
        return "tensor<" + "".join(f"{n}x" for n in self.shape) + "f32>"
