#!/usr/bin/env python3
"""Checks that the tree is in order: who includes whom, sizes, names, words.

    check-house.py                all rules, on this checkout
    check-house.py --only=RULE    one rule; may be given several times
    check-house.py --root=FOLDER  on another checkout

Prints every violation as `path:line: rule: what, expected ...; what to do`, then
`N rules, N violations`. Exit status 0 only if there is none. What may break a rule is in
scripts/house/exceptions.txt, with the reason; an exception that nothing needs any more is
a violation too. The rules:

"""
from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator

from house.arrows import arrow
from house.attributes import attribute_name
from house.exceptions import unexcepted
from house.markdown import line_width
from house.passes import passes
from house.paths import doc_path
from house.sizes import file_size, folder_size, header_name
from house.tree import Tree, Violation
from house.words import old_word

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RULES: dict[str, Callable[[Tree], Iterator[Violation]]] = {
    "arrow": arrow,
    "folder-size": folder_size,
    "file-size": file_size,
    "header-name": header_name,
    "attribute-name": attribute_name,
    "pass": passes,
    "old-word": old_word,
    "doc-path": doc_path,
    "line-width": line_width,
}


def main() -> int:
    rules = "".join(f"    {name:16}{(rule.__doc__ or '').splitlines()[0]}\n"
                    for name, rule in RULES.items())
    parser = argparse.ArgumentParser(description=(__doc__ or "") + rules,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", metavar="RULE", action="append", choices=RULES)
    parser.add_argument("--root", metavar="FOLDER", default=ROOT)
    parser.add_argument("--subjects", action="store_true",
                        help="print violations as rows of exceptions.txt, without the reason")
    options = parser.parse_args()
    if not os.path.isdir(os.path.join(options.root, "include", "tp")):
        parser.error(f"--root: expected a checkout, got '{options.root}'")
    tree = Tree(options.root)
    chosen: list[str] = options.only or list(RULES)
    found = [violation for name in chosen for violation in
             sorted(RULES[name](tree), key=lambda violation: (violation.path, violation.line))]
    violations = list(unexcepted(tree, found, chosen, RULES))
    for violation in violations:
        print(violation.row() if options.subjects else violation)
    print(f"{len(chosen)} rules, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
