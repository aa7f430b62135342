"""Rule `old-word`: what was given a better name does not come back.

  - scripts/house/old-names.txt has a row `OLD NEW` for each identifier that was renamed. OLD is
    looked for in every text file, as a whole word of exactly these letters.
  - The section "Words tp does not use" of docs/glossary.md has tables of words and what is written
    instead. Those in double quotes are looked for in docs, comments and messages, in any case, also
    across lines; those in backquotes as identifiers are. Other words there are right in some
    sentences, which no script can tell: a reader looks for them.
"""
from __future__ import annotations

import re
from collections.abc import Iterator

from house.attributes import TOKEN
from house.tree import Tree, Violation, line_of

GLOSSARY = "docs/glossary.md"
NAMES = "scripts/house/old-names.txt"
HEADING = "words tp does not use"
CODE = (".h", ".cpp", ".c", ".td", ".py", ".mlir", ".test", ".cases", ".sh", ".txt", ".json")
ENTRY = re.compile(r'`([^`]+)`|"([^"]+)"')


def entries(tree: Tree) -> Iterator[tuple[str, bool, str]]:
    """What is not written, if it is an identifier, and what is written instead."""
    section = rows = False
    for line in tree.lines(GLOSSARY) if GLOSSARY in tree.paths else []:
        if line.startswith("#"):
            section = line.lstrip("# ").lower().startswith(HEADING)
        if not line.startswith("|"):
            rows = False
        elif re.fullmatch(r"[|\s:-]+", line):
            rows = section
        elif rows:
            cells = [cell.strip() for cell in line.strip("|\n ").split("|")]
            for match in ENTRY.finditer(cells[0]):
                yield match[1] or match[2], match[1] is not None, cells[1]
    for line in tree.lines(NAMES) if NAMES in tree.paths else []:
        if line and not line.startswith("#"):
            old, new = line.split(maxsplit=1)
            yield old, True, new


def prose(path: str, text: str) -> str:
    """The text with spaces for all that is neither comment nor string, and for what begins the
    lines of a comment. Offsets stay."""
    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0])
    if path.endswith((".h", ".cpp", ".c", ".td", ".mlir")):
        kept, end = [], 0
        for token in TOKEN.finditer(text):
            if token[0][0] != "'":
                kept += [re.sub(r"[^\n]", " ", text[end:token.start()]), token[0]]
                end = token.end()
        text = "".join(kept) + re.sub(r"[^\n]", " ", text[end:])
    return re.sub(r"^[ \t]*(?://+|#+|>)", blank, text, flags=re.M)


def old_word(tree: Tree) -> Iterator[Violation]:
    """Words and names that were replaced do not come back."""
    table = list(entries(tree))
    for path in tree.paths:
        if path in (GLOSSARY, NAMES) or not path.endswith((".md", *CODE)):
            continue
        text = tree.text(path)
        words = set(re.findall(r"\w+", text))
        lower = {word.lower() for word in words}
        plain = None
        for entry, identifier, instead in table:
            needed = re.findall(r"\w+", entry)
            if not all(word in words if identifier else word.lower() in lower for word in needed):
                continue
            if identifier:
                found = re.finditer(rf"(?<!\w){re.escape(entry)}(?!\w)", text)
            else:
                plain = prose(path, text) if plain is None else plain
                phrase = r"\s+".join(re.escape(word) for word in entry.split())
                found = re.finditer(rf"(?<![\w-]){phrase}(?![\w-])", plain, re.I)
            for match in found:
                yield Violation("old-word", path, line_of(text, match.start()), entry,
                                f"'{entry}'", instead, "write that")
