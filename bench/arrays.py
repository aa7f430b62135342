"""Random weights and inputs of a generated program, as .safetensors and .npy files."""

import array
import json
import math
import os
import random
import struct
import sys

NAMES = {"f32": "F32", "f64": "F64", "bf16": "BF16"}
CODES = {"f32": "f", "f64": "d", "bf16": "H"}


def source_key(kind, name):
    """What the runtime looks an argument up by."""
    return f"{kind}:{name}" if kind.startswith("opt_") else name


class Numbers:
    """Random values for any argument of a program; the same seed gives the same ones."""

    def __init__(self, model, seed):
        self.model, self.random = model, random.Random(seed)
        self.normal = [self.random.gauss(0.0, 1.0) for _ in range(1 << 16)]

    def picked(self, count, scale, offset=0.0):
        # Of a table: millions of calls of gauss take minutes.
        table = [offset + scale * value for value in self.normal]
        picks = array.array("H", self.random.randbytes(2 * count))
        return array.array("d", map(table.__getitem__, picks))

    def of(self, kind, name, shape):
        count = math.prod(shape)
        if kind == "buffer":
            return self.rotations(name, shape)
        if name == "x":
            return self.picked(count, 1.0)
        if kind == "user_input":
            limit = self.limit(name)
            return array.array("q", [self.random.randrange(limit) for _ in range(count)])
        if kind == "opt_step":
            return array.array("d", [3.0])
        if kind == "opt_exp_avg":
            return self.picked(count, 0.01)
        if kind == "opt_exp_avg_sq":
            return array.array("d", (v * v for v in self.picked(count, 0.01)))
        if len(shape) == 1:
            return self.picked(count, 0.1, 0.0 if name.endswith("bias") else 1.0)
        if "embed" in name or name.endswith(("wte.weight", "wpe.weight")):
            return self.picked(count, 1.0)
        return self.picked(count, 1.0 / math.sqrt(shape[-1]))

    def limit(self, name):
        return 2 if name == "token_type_ids" else self.model.sizes.vocab

    def rotations(self, name, shape):
        sequence, size = shape
        f = math.cos if name == "rope_cos" else math.sin
        return array.array("d", [
            f(p * 10000.0 ** (-(i % (size // 2)) / (size // 2)))
            for p in range(sequence) for i in range(size)])


def encoded(values, element):
    """Little-endian bytes."""
    if element == "i64":
        data = array.array("q", values)
    elif element == "bf16":
        bits = array.array("I", array.array("f", values).tobytes())
        # Rounded to the nearest, ties to even.
        data = array.array("H", ((b + 0x7FFF + (b >> 16 & 1)) >> 16 for b in bits))
    else:
        data = array.array(CODES[element], values)
    if sys.byteorder == "big":
        data.byteswap()
    return data.tobytes()


def decoded(data, element):
    """The numbers that `encoded` wrote."""
    values = array.array(CODES[element], data)
    if sys.byteorder == "big":
        values.byteswap()
    if element == "bf16":
        bits = array.array("I", (b << 16 for b in values))
        values = array.array("f", bits.tobytes())
    return array.array("d", values)


def write_safetensors(path, tensors):
    """tensors: (key, shape, element, bytes)"""
    header, offset = {}, 0
    for key, shape, element, data in tensors:
        header[key] = {"dtype": NAMES[element], "shape": list(shape),
                       "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text)
        for *_, data in tensors:
            file.write(data)


def write_npy(path, shape, element, data):
    descr = {"f32": "<f4", "f64": "<f8", "i64": "<i8", "bf16": "|V2"}[element]
    # As NumPy spells a tuple: other readers understand no other form.
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) +
                   header.encode() + data)


def read_npy(path):
    """The elements, in row-major order."""
    with open(path, "rb") as file:
        data = file.read()
    size, = struct.unpack_from("<H", data, 8)
    header = data[10:10 + size].decode()
    code = {"f4": "f", "f8": "d", "i8": "q"}[header.split("'descr': '<")[1][:2]]
    values = array.array(code, data[10 + size:])
    if sys.byteorder == "big":
        values.byteswap()
    return values


def write(folder, model, graph, seed=0):
    numbers, weights = Numbers(model, seed), []
    for value, kind, name in graph.arguments:
        data = encoded(numbers.of(kind, name, value.shape), value.element)
        if kind == "user_input":
            write_npy(os.path.join(folder, name + ".npy"), value.shape, value.element,
                      data)
        else:
            weights.append((source_key(kind, name), value.shape, value.element, data))
    write_safetensors(os.path.join(folder, "weights.safetensors"), weights)
