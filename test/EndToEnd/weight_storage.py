"""Weights of examples/llama with their matrices rounded to f16 or bf16, once in f32 and once in that
type; and with a number that f16 cannot hold.

    weight_storage.py WEIGHTS.safetensors FOLDER
"""
from __future__ import annotations

import json
import os
import struct
import sys

LARGE = 1e6


def read(path: str) -> dict[str, tuple[list[int], list[float]]]:
    """By name the shape and the numbers, which are f32 in the file."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<Q", data)
    header = json.loads(data[8:8 + size])
    arrays = {}
    for name, row in header.items():
        if name != "__metadata__":
            assert row["dtype"] == "F32", row
            begin, end = row["data_offsets"]
            numbers = struct.unpack_from(f"<{(end - begin) // 4}f", data, 8 + size + begin)
            arrays[name] = (row["shape"], list(numbers))
    return arrays


def write(path: str, arrays: dict[str, tuple[str, list[int], bytes]]) -> None:
    header, data = {}, b""
    for name, (dtype, shape, bits) in arrays.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(data), len(data) + len(bits)]}
        data += bits
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def wide(numbers: list[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}f", *numbers)


def half(numbers: list[float]) -> bytes:
    return struct.pack(f"<{len(numbers)}e", *numbers)


def bfloat(numbers: list[float]) -> bytes:
    """To nearest even."""
    words = struct.unpack(f"<{len(numbers)}I", wide(numbers))
    return struct.pack(f"<{len(numbers)}H",
                       *((word + 0x7fff + ((word >> 16) & 1)) >> 16 for word in words))


def from_half(bits: bytes) -> list[float]:
    return list(struct.unpack(f"<{len(bits) // 2}e", bits))


def from_bfloat(bits: bytes) -> list[float]:
    words = struct.unpack(f"<{len(bits) // 2}H", bits)
    return list(struct.unpack(f"<{len(words)}f",
                              struct.pack(f"<{len(words)}I", *(word << 16 for word in words))))


def main() -> None:
    weights, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    arrays = read(weights)
    for name, dtype, narrow, widened in (("f16", "F16", half, from_half),
                                         ("bf16", "BF16", bfloat, from_bfloat)):
        rounded, stored = {}, {}
        for key, (shape, numbers) in arrays.items():
            # Others are vectors and buffers.
            if len(shape) < 2 or not key.endswith(".weight"):
                rounded[key] = stored[key] = ("F32", shape, wide(numbers))
                continue
            bits = narrow(numbers)
            stored[key] = (dtype, shape, bits)
            rounded[key] = ("F32", shape, wide(widened(bits)))
        write(os.path.join(folder, f"{name}-in-f32.safetensors"), rounded)
        write(os.path.join(folder, f"{name}.safetensors"), stored)
    key, (shape, numbers) = next(row for row in arrays.items() if len(row[1][0]) > 1)
    arrays[key] = (shape, [LARGE, *numbers[1:]])
    write(os.path.join(folder, "large.safetensors"),
          {name: ("F32", shape, wide(numbers)) for name, (shape, numbers) in arrays.items()})


if __name__ == "__main__":
    main()
