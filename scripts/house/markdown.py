"""Rule `line-width`: lines of Markdown wrap at 100 columns.

Tables, code, single words (links) and what is generated stay as they are.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

from house.tree import Tree, Violation

MOST_COLUMNS = 100
FENCE = re.compile(r"\s*(```|~~~)")
# A word that no line break makes shorter, with what begins a list or a quotation.
ONE_WORD = re.compile(r"\s*(?:[-*>]\s+|\d+\.\s+)?\S+")
GENERATED = "docs/reference/"


def line_width(tree: Tree) -> Iterator[Violation]:
    """Lines of Markdown wrap at 100 columns."""
    for path in tree.paths:
        if not path.endswith(".md") or path.startswith(GENERATED):
            continue
        fenced = indented = False
        before = ""
        for number, line in enumerate(tree.lines(path), 1):
            if FENCE.match(line):
                fenced = not fenced
            # Indented after a paragraph is the paragraph going on, after an empty line code.
            indented = line.startswith("    ") and (indented or not before.strip())
            before = line
            if not (fenced or indented or len(line) <= MOST_COLUMNS
                    or line.lstrip().startswith("|") or ONE_WORD.fullmatch(line)):
                yield Violation("line-width", path, number, "", f"{len(line)} columns",
                                f"at most {MOST_COLUMNS}", "wrap the line")
