"""Constants of bits as tp reads them."""
from __future__ import annotations

import math
import re

_MANY = re.compile(r'dense<"0x([0-9A-Fa-f]*)"> : tensor<([0-9x]+)xi1>')


def pack_bits(text: str) -> str:
    """The text of a module whose constants of many bits are eight to a byte, the first one lowest.
    MLIR writes such constants in hexadecimal digits: jaxlib's has a byte for every bit, and tp's
    reads eight to a byte."""
    return _MANY.sub(_packed, text)


def _packed(match: re.Match[str]) -> str:
    digits, shape = match.groups()
    count = math.prod(map(int, shape.split("x")))
    if len(digits) != 2 * count:
        return match.group()
    data = bytearray(-(-count // 8))
    for place, bit in enumerate(bytes.fromhex(digits)):
        data[place // 8] |= bool(bit) << place % 8
    return f'dense<"0x{data.hex().upper()}"> : tensor<{shape}xi1>'
