"""An op of a program, with what it has to compute."""


class Op:
    """One result of a program: `text` computes %r from %a, %b and %c, `reference` its code
    from theirs; None: any. `ulps`: how many numbers it may be apart."""

    def __init__(self, name, text, element, reference, ulps=0, infinity=None):
        self.name, self.text, self.element = name, text, element
        self.reference, self.ulps = reference, ulps
        # The code that a reduction starts from.
        self.infinity = infinity
