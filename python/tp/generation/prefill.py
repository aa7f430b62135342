"""Which entries read a prompt: each reads a part of a fixed length."""
from __future__ import annotations

from collections.abc import Sequence

# What a call costs however many tokens it reads, in tokens: the weights are read once.
_PER_CALL = 4


def default_lengths(length: int) -> list[int]:
    """The lengths of parts for a cache of `length` tokens: 8, 32, 128 and so on. Each takes as long
    to export as the decode step, so they are few."""
    lengths, size = [], 8
    while size <= length:
        lengths.append(size)
        size *= 4
    return lengths


def parts_of(count: int, lengths: Sequence[int], room: int, pads: bool) -> list[tuple[int, int]]:
    """How to read `count` tokens with the fewest calls and pads: for each call its length, 1 being
    the decode step, and the tokens that it reads; the rest are pads, behind the last token.

    Args:
        lengths: of the entries that read several tokens.
        room: tokens of the cache; pads need room in it too.
        pads: whether a call may read fewer tokens than its length.
    """
    least: list[tuple[int, int]] = [(0, 0)]  # by tokens that remain: costs, length of the next call
    for remain in range(1, count + 1):
        least.append(min(
            (_PER_CALL + size + least[max(remain - size, 0)][0], size) for size in [1, *lengths]
            if size <= remain or pads and count - remain + size <= room))
    parts = []
    while count:
        size = least[count][1]
        parts.append((size, min(size, count)))
        count -= min(size, count)
    return parts
