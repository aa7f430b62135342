"""Collectives that XLA's partitioner makes, for CPU, of the models of bench/jax_models.py.

    PYTHON gspmd.py < rows.json

PYTHON has jax and jaxlib; rows.py says what rows and answers are.
"""

import collections
import math
import os
import re

import rows
import jax_models
import least

KINDS = {"all-reduce": "all_reduce", "all-gather": "all_gather",
         "reduce-scatter": "reduce_scatter", "all-to-all": "all_to_all",
         "collective-permute": "permute"}
OP = re.compile(r"= (?P<types>.*?) (?P<kind>" + "|".join(KINDS) + r")(?:-start)?\(")
TYPE = re.compile(r"[a-z]+(?P<bits>\d+)\[(?P<shape>[\d,]*)\]")


def group_size(line):
    listed = re.search(r"replica_groups=\{\{([\d,]+)\}", line)
    if listed:
        return len(listed.group(1).split(","))
    made = re.search(r"replica_groups=\[(\d+),(\d+)\]", line)
    return int(made.group(2)) if made else 1


def collectives(text):
    """Ops by kind, their operands by kind, and the ring bytes of all."""
    counts, tensors, total = collections.Counter(), collections.Counter(), 0.0
    for line in text.splitlines():
        op = OP.search(line)
        if not op:
            continue
        kind, ranks = KINDS[op.group("kind")], group_size(line)
        results = [math.prod(map(int, filter(None, t.group("shape").split(",")))) *
                   int(t.group("bits")) // 8 for t in TYPE.finditer(op.group("types"))]
        payload = sum(results)
        if kind == "reduce_scatter":
            payload *= ranks
        counts[kind] += 1
        tensors[kind] += len(results)
        total += payload if kind == "permute" else least.ring(kind, payload, ranks)
    return counts, tensors, total


def main():
    os.environ.update(jax_models.devices_of_host({"most": 8}))
    import jax

    def measure(model, program, plan, axes):
        return collectives(jax_models.lowered(jax, model, program, plan,
                                              axes).compile().as_text())

    rows.answer(measure, jax.__version__)


if __name__ == "__main__":
    main()
