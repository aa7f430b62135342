#!/usr/bin/env python3
"""Writes arrays of random f32 in [-1, 1), to run a program on: each argument is
FILE.npy=ROWS,COLUMNS,... The numbers follow from the shape and the position."""
import argparse
import array
import math
import random

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("arrays", nargs="+", metavar="FILE.npy=ROWS,COLUMNS,...")
for position, argument in enumerate(parser.parse_args().arrays):
    path, sizes = argument.rsplit("=", 1)
    shape = tuple(int(size) for size in sizes.split(","))
    numbers = random.Random(f"{position} {shape}")
    header = repr({"descr": "<f4", "fortran_order": False, "shape": shape})
    header += " " * (-(len(header) + 11) % 64) + "\n"
    data = array.array("f", (numbers.uniform(-1, 1)
                             for _ in range(math.prod(shape))))
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little"))
        file.write(header.encode() + data.tobytes())
