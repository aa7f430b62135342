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


def without_constrains(text):
    """Every tp.constrain replaced by what it reads."""
    constrain = re.compile(r"\n[^\n]*?(%\S+) = tp\.constrain (%\S+) on [^\n]*")
    while match := constrain.search(text):
        text = text[:match.start()] + text[match.end():]
        text = re.sub(re.escape(match.group(1)) + r"(?![\w$.-])", match.group(2), text)
    return text


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
