"""Writes a .safetensors file of tensors of zeros.

    write_tensors.py FILE NAME=DTYPE:SIZExSIZE ...
"""
import json
import math
import struct
import sys

BYTES = {"F32": 4, "F64": 8, "I64": 8, "BOOL": 1}
header, end = {}, 0
for argument in sys.argv[2:]:
    name, _, text = argument.partition("=")
    dtype, _, sizes = text.partition(":")
    shape = [int(size) for size in sizes.split("x") if size]
    begin, end = end, end + math.prod(shape) * BYTES[dtype]
    header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}
table = json.dumps(header).encode()
table += b" " * (-len(table) % 8)
with open(sys.argv[1], "wb") as file:
    file.write(struct.pack("<Q", len(table)) + table + bytes(end))
