"""Rule `doc-path`: a path that a page or a comment of C++ names is there.

Looked for are words that begin with a folder of the repository, or with `tp/` as headers do, in
Markdown and in comments. `*`, `{...}` and `<...>` stand for any name, a part in capitals for one
that the reader puts there.
"""
from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from house.tree import FOLDERS, Tree, Violation

PATH = re.compile(r"(?<![\w./%$*<{}>@~-])((?:tp|" + "|".join(FOLDERS).replace(".", r"\.") +
                  r")/[\w./*+-]*[\w*])")
GOES_ON = re.compile(r"[-.]?[{<]")
PLACEHOLDER = re.compile(r"[A-Z][A-Z_]*")
COMMENTED = (".h", ".cpp", ".c", ".td")


def doc_path(tree: Tree) -> Iterator[Violation]:
    """Paths that docs and comments name are there."""
    names = set(tree.paths)
    for path in tree.paths:
        folders = path.split("/")
        names.update("/".join(folders[:length]) for length in range(1, len(folders)))
    # As an include names them.
    for path in list(names):
        if (at := path.find("include/tp/")) >= 0:
            names.add(path[at + len("include/"):])
    parts = {part for name in names for part in re.split(r"[/.]", name)}
    for path in tree.paths:
        if not path.endswith((".md", *COMMENTED)):
            continue
        for number, line in enumerate(tree.lines(path), 1):
            if "/" not in line:
                continue
            comment = line if path.endswith(".md") else line.partition("//")[2]
            for found in PATH.finditer(comment):
                name = found[1]
                if GOES_ON.match(comment, found.end()):
                    name += "*"
                if name in names or \
                        "*" in name and any(fnmatchcase(one, name) for one in names) or \
                        any(part not in parts and PLACEHOLDER.fullmatch(part)
                            for part in re.split(r"[/.]", name)):
                    continue
                yield Violation("doc-path", path, number, name, f"there is no {name}",
                                "a file or folder of the repository", "name what is there now")
