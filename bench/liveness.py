"""The most bytes of values that are live at one time in a per-rank program, read
from its text (the stage `partition` of tp-compile --dump-stages).

Every value counts with its rank's size: the chunk of a sharded one, all of a
replicated one. Arguments, results of the function, constants and what
tensor.empty names count nothing; a fill is the value that is computed in its
place; views are their source. This is what a program without any fusion needs
if nothing is kept longer than it is used, so no plan should need more.
"""
import re

BYTES = {"f64": 8, "i64": 8, "index": 8, "f32": 4, "i32": 4, "f16": 2, "bf16": 2,
         "i16": 2, "i8": 1, "i1": 1}
VIEWS = ("tensor.expand_shape", "tensor.collapse_shape", "tensor.extract_slice",
         "tensor.cast")


def size(text):
    *shape, dtype = text.split("x")
    total = BYTES[dtype]
    for extent in shape:
        total *= int(extent)
    return total


def operations(path):
    """(results, name, text) of the ops of the function, in order."""
    with open(path) as file:
        lines = file.read().splitlines()
    block = []
    inside = False
    for line in lines:
        if re.match(r"  func\.func ", line):
            inside = True
            continue
        if not inside:
            continue
        if re.match(r"    [%a-z\"]", line):
            if block:
                yield "\n".join(block)
            block = []
        if line.startswith("  }"):
            if block:
                yield "\n".join(block)
            return
        block.append(line)


def parse(text):
    match = re.match(r"\s*(?:(%[\w]+)(?::(\d+))? = )?\"?([\w.]+)", text)
    name, count, op = match.groups()
    # Types in attributes are the values' global ones, not the rank's.
    plain = re.sub(r"#tp\.layout<[^\]]*\]>", "", text)
    plain = re.sub(r"tp\.values = \[.*?\}\]", "", plain, flags=re.S)
    types = re.findall(r"tensor<([^<>]*)>", plain)
    results = []
    if name:
        number = int(count or 1)
        names = [name] if not count else [f"{name}#{i}" for i in range(number)]
        results = list(zip(names, types[-number:])) if types else []
    operands = [o for o in re.findall(r"%\w+(?:#\d+)?", text)]
    if name:
        operands = [o for o in operands[1:] if o != name]
    return op, results, operands


def peak(path):
    program = [parse(text) for text in operations(path)]
    source = {}

    def root(value):
        while value in source:
            value = source[value]
        return value

    born, bytes_of, last = {}, {}, {}
    returned = set()
    for at, (op, results, operands) in enumerate(program):
        for operand in operands:
            last[root(operand)] = at
        if op in ("return", "func.return"):
            returned = {root(operand) for operand in operands}
        for name, type_text in results:
            if op in VIEWS:
                source[name] = operands[0]
            elif op not in ("tensor.empty", "arith.constant"):
                born[name] = at
                bytes_of[name] = 0 if op == "linalg.fill" else size(type_text)
    most = 0
    for at in range(len(program)):
        most = max(most, sum(bytes_of[v] for v, b in born.items()
                             if b <= at <= last.get(v, b) and v not in returned))
    return most
