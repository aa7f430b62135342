"""Rule `pass`: every pass is described, shown and tested.

  - It is declared in a .td file, not by `getArgument` in C++. Passes of test/lib are exempt: only
    tests know them.
  - Its description has two blocks of code: a program, and what the pass makes of it, prints,
    or the error by which it refuses it. test/Docs/pass-examples.test runs each.
  - A lit test has its name without `tp-`, lies in the folder of test/ that mirrors the pass's, and
    calls the pass.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import dirname, splitext

from house.tree import Tree, Violation, line_of

PASS = re.compile(r'^def\s+\w+\s*:\s*\w*Pass<\s*"([\w-]+)"', re.M)
BLOCK = re.compile(r"^ *```(\w*)\n.*?^ *```$", re.M | re.S)
ARGUMENT = re.compile(r'getArgument\(\)\s*const[^{;]*\{\s*return\s+"([\w-]+)"')
EXAMPLES = (["mlir", "mlir"], ["mlir", "text"])


def described_passes(tree: Tree) -> Iterator[tuple[str, str, int, str]]:
    """Name, file, line and declaration of every pass."""
    for path in tree.under("include", "lib", "tools", ends=(".td",)):
        text = tree.text(path)
        begins = list(PASS.finditer(text))
        for begin, after in zip(begins, [*begins[1:], None]):
            end = after.start() if after else len(text)
            yield begin[1], path, line_of(text, begin.start()), text[begin.start():end]


def passes(tree: Tree) -> Iterator[Violation]:
    """Every pass has a description, an example and a lit file of its own name."""
    tests: dict[str, list[str]] = {}
    for path in tree.under("test", ends=(".mlir", ".test")):
        tests.setdefault(splitext(path)[0], []).append(path)
    for name, path, line, declaration in described_passes(tree):
        if "let description" not in declaration:
            yield Violation("pass", path, line, name, f"no description of {name}", "one",
                            "write `let description = [{...}]`")
        if BLOCK.findall(declaration) not in EXAMPLES:
            yield Violation("pass", path, line, name, f"no example of {name}",
                            "a block ```mlir of a program, then one of what it becomes, or ```text "
                            "of what it prints", "write both into the description")
        room = dirname(path).removeprefix("include/tp/").removeprefix("lib/")
        own = f"test/{room}/{name.removeprefix('tp-')}"
        if not any(name in tree.text(test) for test in tests.get(own, [])):
            yield Violation("pass", path, line, name, f"no lit test of {name}'s own",
                            f"{own}.mlir that calls it", "write it")
    for path in tree.under("include", "lib", "tools", ends=(".h", ".cpp")):
        for found in ARGUMENT.finditer(tree.text(path)):
            yield Violation("pass", path, line_of(tree.text(path), found.start()), found[1],
                            f"{found[1]} is declared in C++", "a .td file",
                            "declare it in a Passes.td, or move it to test/lib")
