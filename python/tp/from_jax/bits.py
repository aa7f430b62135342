"""Constants of bits as tp reads them, eight to a byte, the first one lowest. MLIR writes constants of
many bits in hexadecimal digits: newer versions, as jaxlib's, have a byte for every bit.
"""
from __future__ import annotations

import math
import re
from collections.abc import Callable

_MANY = re.compile(r'dense<"0x([0-9A-Fa-f]*)"> : tensor<([0-9x]+)xi1>')


def pack_bits(text: str) -> str:
    """The text of a module as tp reads it, of one whose constants of bits may have a byte for every
    bit."""
    return _MANY.sub(lambda match: _written(match, _packed), text)


def unpack_bits(text: str) -> str:
    """The reverse."""
    return _MANY.sub(lambda match: _written(match, _unpacked), text)


def _written(match: re.Match[str], change: Callable[[bytes, int], bytes | None]) -> str:
    digits, shape = match.groups()
    data = change(bytes.fromhex(digits), math.prod(map(int, shape.split("x"))))
    return match.group() if data is None else (
        f'dense<"0x{data.hex().upper()}"> : tensor<{shape}xi1>')


def _packed(data: bytes, count: int) -> bytes | None:
    if len(data) != count:
        return None
    packed = bytearray(-(-count // 8))
    for place, bit in enumerate(data):
        packed[place // 8] |= bool(bit) << place % 8
    return bytes(packed)


def _unpacked(data: bytes, count: int) -> bytes | None:
    if len(data) != -(-count // 8):
        return None
    return bytes(data[place // 8] >> place % 8 & 1 for place in range(count))
