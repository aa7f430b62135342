"""Rules on sizes and names of files: `folder-size`, `file-size` and `header-name`."""
from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from posixpath import basename, dirname

from house.tree import Tree, Violation

SOURCES = (".h", ".cpp", ".td", ".c", ".py")
FOLDERS = ("lib", "include", "python", "runtime", "tools", "test")
# More than a reader keeps in mind, and 1.5 times the aim of 300 lines.
MOST_FILES = 25
MOST_LINES = 450


def folder_size(tree: Tree) -> Iterator[Violation]:
    """No folder has more than 25 source files."""
    count: dict[str, int] = defaultdict(int)
    for path in tree.under(*FOLDERS, ends=SOURCES):
        count[dirname(path)] += 1
    for folder, files in count.items():
        if files > MOST_FILES:
            yield Violation("folder-size", folder, 1, "", f"{files} source files",
                            f"at most {MOST_FILES}", "make a folder of those that belong together")


def file_size(tree: Tree) -> Iterator[Violation]:
    """No source file has more than 450 lines."""
    for path in tree.under(*FOLDERS, "scripts", "bench", "examples", ends=SOURCES):
        lines = tree.text(path).count("\n")
        if lines > MOST_LINES:
            yield Violation("file-size", path, MOST_LINES + 1, "", f"{lines} lines",
                            f"at most {MOST_LINES}", "move one of its ideas to a file of its own")


def header_name(tree: Tree) -> Iterator[Violation]:
    """No two headers have the same name."""
    paths: dict[str, list[str]] = defaultdict(list)
    for path in tree.under(*FOLDERS, ends=(".h",)):
        paths[basename(path)].append(path)
    for name, same in paths.items():
        for path in same[1:]:
            yield Violation("header-name", path, 1, name, f"a second {name} beside {same[0]}",
                            "one header of each name", "name the file after what it declares")
