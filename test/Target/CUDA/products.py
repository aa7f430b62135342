"""Prints a line per matrix product of the manifests on standard input, under the
name of the program's first argument, and how many kernels there are."""

import json
import sys

text, decoder = sys.stdin.read(), json.JSONDecoder()
while text := text.lstrip():
    manifest, end = decoder.raw_decode(text)
    text = text[end:]
    print(manifest["arguments"][0]["name"])
    kernels = 0
    for command in manifest["program"]:
        kernels += command["command"] == "kernel"
        if command["command"] != "gemm":
            continue
        line = f"{command['m']} x {command['n']} x {command['k']} {command['dtype']}"
        line += " + residual" if "residual" in command else ""
        line += " + bias" if "bias" in command else ""
        line += f", {command['activation']}" if "activation" in command else ""
        print(line)
    print(kernels, "kernels")
