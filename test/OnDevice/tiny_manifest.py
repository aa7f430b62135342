"""Writes the manifest.json of an exported model without weights: arguments as its
model.mlir names them.

    tiny_manifest.py FOLDER
"""
import json
import os
import re
import sys

NAMES = {"f32": "float32", "bf16": "bfloat16", "i64": "int64"}
folder = sys.argv[1]
with open(os.path.join(folder, "model.mlir")) as file:
    entry = next(line for line in file if "func.func @main" in line)
found = re.findall(r'%arg\d+: tensor<([^>]*)> \{tp.kind = "(\w+)", tp.name = "([^"]*)"\}',
                   entry)
arguments = []
for type, kind, name in found:
    *shape, element = type.split("x")
    arguments.append({"name": name, "kind": kind, "shape": [int(n) for n in shape],
                      "dtype": NAMES[element], "safetensors_key": name})
with open(os.path.join(folder, "manifest.json"), "w") as file:
    json.dump({"args": arguments, "results": []}, file)
