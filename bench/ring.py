"""Collectives by kind, and the bytes that a rank sends for them on a ring."""

import collections

SHORT = {"all_reduce": "AR", "all_gather": "AG", "reduce_scatter": "RS",
         "all_to_all": "A2A", "permute": "P"}


def ring(kind, payload, ranks):
    """Bytes that a rank sends for a collective whose larger side has `payload` bytes."""
    rounds = 2 if kind == "all_reduce" else 1
    return rounds * payload * (ranks - 1) / ranks


class Collectives:
    """Collectives by kind, and the ring bytes of all."""

    def __init__(self):
        self.counts, self.bytes = collections.Counter(), 0.0

    def add(self, kind, count, payload, ranks):
        if count and ranks > 1:
            self.counts[kind] += count
            self.bytes += count * ring(kind, payload, ranks)

    def minus(self, other):
        """What these have more than `other`; negative counts where they have less."""
        result = Collectives()
        result.counts = self.counts.copy()
        result.counts.subtract(other.counts)
        result.bytes = self.bytes - other.bytes
        return result

    def shown(self):
        """"2 AR: 24,576", or "none" """
        counts = ", ".join(f"{count} {SHORT[kind]}"
                           for kind, count in sorted(self.counts.items()) if count)
        return f"{counts or 'none'}: {self.bytes:,.0f}" if counts or self.bytes else "none"
