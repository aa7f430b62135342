"""Rule `attribute-name`: attributes of tp are spelled in include/tp/IR alone.

A C++ string literal under include, lib, tools or test/lib, outside the rooms called IR, breaks
the rule if

  - all of it is `tp.` and a name, or `tp.` alone, unless the name is that of an op; or
  - it contains the name of an attribute that include/tp/IR declares, as a message does.

`#tp.mesh` and `!tp.x` in a message are attribute kinds and types, not names of attributes, and
`tp.plan` is an op: both may be spelled. Every attribute that include/tp/IR declares is in the table of TPDialect.td.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

from house.tree import Tree, Violation, line_of

# A string, a character or a comment, whatever begins first.
TOKEN = re.compile(r'"((?:\\.|[^"\\\n])*)"|\'(?:\\.|[^\'\\\n])+\'|//[^\n]*|/\*.*?\*/', re.S)
DECLARED = re.compile(r'StringLiteral\s+\w+\s*=?\s*[({]?\s*"tp\.(\w+)"')
OPS = re.compile(r'\bdef\s+TP_\w+\s*:\s*\w*Op<\s*(?:TP_Dialect\s*,\s*)?"(\w+)"')
WHOLE = re.compile(r"tp\.(\w*)")


def attribute_name(tree: Tree) -> Iterator[Violation]:
    """Attributes of tp are spelled in include/tp/IR alone."""
    table = "".join(tree.text(path) for path in tree.under("include/tp/IR", ends=("Dialect.td",)))
    declared: set[str] = set()
    for path in tree.under("include/tp/IR", ends=(".h",)):
        text = tree.text(path)
        for found in DECLARED.finditer(text):
            declared.add(found[1])
            if f"`tp.{found[1]}`" not in table:
                yield Violation("attribute-name", path, line_of(text, found.start()), found[1],
                                f"'tp.{found[1]}' is not in the dialect's table",
                                "a row of include/tp/IR/TPDialect.td", "describe it there")
    ops = {name for path in tree.under("include/tp/IR", ends=(".td",))
           for name in OPS.findall(tree.text(path))}
    spelled = re.compile(r"(?<![#!\w.])tp\.(?:%s)\b(?!\.)"
                         % "|".join(sorted(declared - ops) or ["(?!)"]))
    for path in tree.under("include", "lib", "tools", "test/lib", ends=(".h", ".cpp")):
        if path.startswith(("include/tp/IR/", "lib/IR/")):
            continue
        text = tree.text(path)
        if "tp." not in text:
            continue
        for token in TOKEN.finditer(text):
            literal = token[1]
            if not literal:
                continue
            whole = WHOLE.fullmatch(literal)
            if whole and whole[1] not in ops:
                name = literal
            elif inside := spelled.search(literal):
                name = inside[0]
            else:
                continue
            line = line_of(text, token.start())
            yield Violation("attribute-name", path, line, name, f"'{name}' is spelled here",
                            "a constant of include/tp/IR", "declare it there and use the constant")
