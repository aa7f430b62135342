"""Weights and inputs of a model that came without: numbers of the size that training
starts from, so that results of many layers can be compared. The same every time."""
import json
import math
import os
import struct
import zlib

NAMES = {"f64": "F64", "f32": "F32", "f16": "F16", "bf16": "BF16", "i64": "I64",
         "i32": "I32", "i1": "BOOL"}
NPY = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "|V2", "i64": "<i8",
       "i32": "<i4", "i1": "|b1"}


def numbers(numpy, argument):
    """Bytes of the argument."""
    shape, element, key = argument["shape"], argument["element"], argument["key"]
    random = numpy.random.default_rng(zlib.crc32(key.encode()))
    if element[0] == "i":
        # A valid index of every table with two rows.
        return random.integers(0, 2, shape).astype(
            {"i64": "<i8", "i32": "<i4", "i1": "?"}[element]).tobytes()
    if key.split(".")[-1] in ("rope_cos", "rope_sin"):
        half = shape[-1] // 2
        angles = (numpy.arange(shape[-2])[:, None] *
                  10000.0 ** (-(numpy.arange(shape[-1]) % half) / half))
        values = numpy.cos(angles) if key.endswith("cos") else numpy.sin(angles)
        values = numpy.broadcast_to(values, shape).astype("<f4")
    else:
        values = random.standard_normal(shape, dtype="float32")
        if argument["kind"] == "parameter" and len(shape) > 1:
            values *= 1 / math.sqrt(shape[-1])
        elif argument["kind"] == "parameter":
            values = values * numpy.float32(0.1) + numpy.float32(
                0 if key.endswith("bias") else 1)
        elif argument["kind"] == "opt_exp_avg_sq":
            values *= values
    if element != "bf16":
        return values.astype(NPY[element]).tobytes()
    bits = numpy.ascontiguousarray(values, "<f4").view("<u4")
    # Rounded to the nearest, ties to even.
    return ((bits + (0x7FFF + (bits >> 16 & 1))) >> 16).astype("<u2").tobytes()


def write(folder, model, arguments):
    """Files for `model` in `folder`, unless they are there: the words that give them to
    tp-run."""
    import numpy
    weights = f"random-{model}.safetensors"
    inputs = [a for a in arguments if a["kind"] == "user_input"]
    rest = [a for a in arguments if a["kind"] != "user_input"]
    words = ["--dtype=bf16"] if any(a["element"] == "bf16" for a in inputs) else []
    words += [f"--weights={weights}"] if rest else []
    words += [f"--input={a['name']}=@random-{model}-{a['name']}.npy" for a in inputs]
    if os.path.exists(os.path.join(folder, f"random-{model}.done")):
        return words
    header, offset = {}, 0
    sizes = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i1": 1}
    for argument in rest:
        size = math.prod(argument["shape"]) * sizes[argument["element"]]
        header[argument["key"]] = {"dtype": NAMES[argument["element"]],
                                   "shape": argument["shape"],
                                   "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    if rest:
        with open(os.path.join(folder, weights), "wb") as file:
            file.write(struct.pack("<Q", len(text)) + text)
            for argument in rest:
                file.write(numbers(numpy, argument))
    for argument in inputs:
        head = (f"{{'descr': '{NPY[argument['element']]}', 'fortran_order': False, "
                f"'shape': {tuple(argument['shape'])}, }}")
        head += " " * (-(len(head) + 11) % 64) + "\n"
        with open(os.path.join(folder, f"random-{model}-{argument['name']}.npy"),
                  "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) +
                       head.encode() + numbers(numpy, argument))
    with open(os.path.join(folder, f"random-{model}.done"), "w"):
        pass
    return words
