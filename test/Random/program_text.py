"""What the text of a program says: its ports, and the program without pins."""

import re
from collections import namedtuple

from values import parse_type

TYPE = r"tensor<(?:[^<>]|<[^<>]*>)*>"
Port = namedtuple("Port", "name type shape element")


def signature(text):
    """(start of the arguments, start of the results, end of the results) of @main."""
    match = re.search(r"func\.func @main\(", text)
    arguments = match.end()
    depth, at = 1, arguments
    while depth:
        depth += {"(": 1, ")": -1}.get(text[at], 0)
        at += 1
    # The body is the first brace outside of the brackets of results and attributes.
    end, depth, is_quoted = at, 0, False
    while depth or text[end] != "{" or re.match(r"\{tp\.", text[end:]):
        if text[end] == '"':
            is_quoted = not is_quoted
        elif not is_quoted:
            depth += {"(": 1, "{": 1, "[": 1, ")": -1, "}": -1, "]": -1}.get(text[end], 0)
        end += 1
    return arguments, at, end


def attributes_after(text, at):
    """The end of the dictionary that starts here, or `at`."""
    start = re.compile(r"\s*\{").match(text, at)
    if not start:
        return at
    end, depth = start.end(), 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        end += 1
    return end


def ports_in(text, prefix):
    """Ports in a list of types, each with its attributes."""
    ports = []
    for match in re.finditer(TYPE, text):
        attributes = text[match.end():attributes_after(text, match.end())]
        if '"' not in attributes and attributes:
            attributes = ""
        name = re.search(r'tp\.name = "([^"]*)"', attributes)
        ports.append(Port(name.group(1) if name else f"{prefix}{len(ports)}",
                          match.group(), *parse_type(match.group())))
    return ports


def ports(text):
    """(arguments, results) of @main."""
    arguments, results, end = signature(text)
    listed = text[results:end].split("attributes")[0]
    return ports_in(text[arguments:results], "arg"), ports_in(listed, "result")


def number_of_ranks(text):
    sizes = re.search(r"#tp\.mesh<([^>]*)>", text).group(1)
    total = 1
    for size in re.findall(r'" = (\d+)', sizes):
        total *= int(size)
    return total


def without(op, text):
    """Every op of this name, which has one operand, replaced by what it reads."""
    line = re.compile(rf"\n[^\n]*?(%\S+) = {re.escape(op)} (%\S+) [^\n]*")
    while match := line.search(text):
        text = text[:match.start()] + text[match.end():]
        text = re.sub(re.escape(match.group(1)) + r"(?![\w$.-])", match.group(2), text)
    return text


def without_constrains(text):
    return without("tp.constrain", text)


def without_signs(text):
    """Integers without a sign, and no casts between them: what upstream passes know."""
    text = without("builtin.unrealized_conversion_cast", text)
    return re.sub(r"(?<=[x<])ui(?=\d+>)", "i", text)


SCATTER = re.compile(
    r"(?P<result>%\S+) = tm_tensor\.scatter \{dimension_map = array<i64: (?P<map>[\d, ]*)>\} "
    r"unique_indices\(\w+\) ins\((?P<updates>%\S+), (?P<indices>%\S+) : (?P<slices>\S+), "
    r"(?P<table>\S+)\) outs\((?P<original>%\S+) : (?P<type>\S+)\) \{\n"
    r"\s*\^bb0\((?P<new>%\S+): \S+, (?P<old>%\S+): \S+\):\n(?P<body>(?:.*\n)*?)"
    r"\s*tm_tensor\.yield (?P<written>%\S+) : \S+\n\s*\} -> \S+")


def scatter_as_loops(match):
    """The definition of tm_tensor.scatter: one update after the other."""
    at = match.groupdict()
    shape, element = parse_type(at["type"])
    slices, _ = parse_type(at["slices"])
    _, integer = parse_type(at["table"])
    name, lines = at["result"] + "_", []
    numbers = sorted({0, 1, *slices, *range(len(shape))})
    lines += [f"{name}c{n} = arith.constant {n} : index" for n in numbers]
    loops = [f"{name}i{d}" for d in range(len(slices))]
    states = [at["original"]] + [f"{name}s{d}" for d in range(len(slices))]
    for d, size in enumerate(slices):
        result = at["result"] if d == 0 else f"{name}r{d}"
        lines.append(f"{result} = scf.for {loops[d]} = {name}c0 to {name}c{size} step {name}c1 "
                     f"iter_args({states[d + 1]} = {states[d]}) -> ({at['type']}) {{")
    first = len(shape) - len(slices) + 1
    places = [loops[d - first + 1] if d >= first else f"{name}c0" for d in range(len(shape))]
    for k, dim in enumerate(int(d) for d in at["map"].split(",")):
        lines.append(f"{name}e{k} = tensor.extract {at['indices']}[{loops[0]}, {name}c{k}] : "
                     f"{at['table']}")
        begin = f"{name}e{k}"
        if integer != "index":
            lines.append(f"{name}b{k} = arith.index_cast {begin} : {integer} to index")
            begin = f"{name}b{k}"
        lines.append(f"{name}p{k} = arith.addi {begin}, {places[dim]} : index")
        places[dim] = f"{name}p{k}"
    place = ", ".join(places)
    lines += [f"{at['new']} = tensor.extract {at['updates']}[{', '.join(loops)}] : {at['slices']}",
              f"{at['old']} = tensor.extract {states[-1]}[{place}] : {at['type']}",
              at["body"].strip(),
              f"{name}t = tensor.insert {at['written']} into {states[-1]}[{place}] : {at['type']}",
              f"scf.yield {name}t : {at['type']}", "}"]
    for d in reversed(range(1, len(slices))):
        lines += [f"scf.yield {name}r{d} : {at['type']}", "}"]
    return "\n    ".join(line for line in lines if line)


def without_pins(text, attributes=""):
    """The module that upstream tools know: no attribute, no op of tp. @main gets
    `attributes`."""
    arguments, _, end = signature(text)
    head, at = "", arguments
    for match in re.finditer(TYPE, text[:end]):
        if match.start() < at:
            continue
        head += text[at:match.end()]
        at = attributes_after(text, match.end())
    body = without_constrains(text[end:])
    head += text[at:end].split(" attributes")[0].rstrip() + f" {attributes} "
    before = re.sub(r"module attributes \{.*\} \{", "module {", text[:arguments])
    before = re.sub(r"(?m)^#\w+ = #tp\..*\n", "", before)
    return before + head + body


def without_placements(text):
    """The module for one rank: names stay, mesh, pins and constrains go."""
    text = re.sub(r"(?m)^#\w+ = #tp\.mesh.*\n", "", text)
    text = re.sub(r"module attributes \{.*\} \{", "module {", text)
    text = re.sub(r", tp\.pin = \{[^}]*\}", "", text)
    text = re.sub(r"tp\.pin = \{[^}]*\},? ?", "", text)
    return without_constrains(text)
