"""What a library makes of a case."""
from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Any

SHORT = {"all_reduce": "AR", "all_gather": "AG", "reduce_scatter": "RS", "all_to_all": "A2A",
         "permute": "P"}


@dataclass
class Sent:
    """Collectives by kind, and the bytes that a rank sends on a ring for all."""
    kinds: Counter[str] = field(default_factory=Counter)
    bytes: int = 0

    def add(self, kind: str, payload: int, ranks: int) -> None:
        """A collective whose larger side has `payload` bytes."""
        self.kinds[kind] += 1
        self.bytes += (2 if kind == "all_reduce" else 1) * payload * (ranks - 1) // ranks

    def copy(self) -> Sent:
        return Sent(Counter(self.kinds), self.bytes)

    @property
    def count(self) -> int:
        return self.kinds.total()

    @property
    def cost(self) -> int:
        """What tp minimizes (docs/propagate.md): a collective costs as much as 1 KiB."""
        return self.bytes + 1024 * self.count

    def __str__(self) -> str:
        texts = [f"{count} {SHORT[kind]}" for kind, count in sorted(self.kinds.items())]
        return ", ".join(texts) + f": {self.bytes:,}" if texts else "none"


@dataclass
class Outcome:
    """Results as global values, and what was sent: in the forward pass, and in a training step."""
    layouts: dict[str, Any] = field(default_factory=dict)
    result: Any = None
    forward: Sent = field(default_factory=Sent)
    loss: float = 0.0
    parameters: dict[str, Any] = field(default_factory=dict)
    training: Sent = field(default_factory=Sent)
