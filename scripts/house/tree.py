"""The files that the rules look at, and what a rule reports."""
from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cache

FOLDERS = (".ci", "bench", "cmake", "docs", "examples", "hardware", "include", "lib", "python",
           "runtime", "scripts", "test", "tools")
SKIPPED = {"__pycache__", ".venv"}


@dataclass(frozen=True)
class Violation:
    """`path:line: rule: what, expected ..., advice`. `subject` is what an exception names: the
    line may change, the subject does not."""
    rule: str
    path: str
    line: int
    subject: str
    what: str
    expected: str
    advice: str

    def __str__(self) -> str:
        return (f"{self.path}:{self.line}: {self.rule}: {self.what}, expected {self.expected}; "
                f"{self.advice}")

    def row(self) -> str:
        return f"{self.rule} | {self.path} | {self.subject} | "


class Tree:
    """A checkout. Paths are relative to its root and have slashes."""

    def __init__(self, root: str) -> None:
        self.root = root
        self.paths: list[str] = sorted(self._find())

    def _find(self) -> list[str]:
        found = [name for name in os.listdir(self.root)
                 if os.path.isfile(os.path.join(self.root, name))]
        for top in FOLDERS:
            for folder, inner, files in os.walk(os.path.join(self.root, top)):
                inner[:] = [name for name in inner if name not in SKIPPED]
                found += [os.path.relpath(os.path.join(folder, name), self.root).replace(os.sep, "/")
                          for name in files]
        return found

    @cache
    def text(self, path: str) -> str:
        """The file's text; nothing for what is not text."""
        with open(os.path.join(self.root, path), "rb") as file:
            data = file.read()
        return "" if b"\0" in data else data.decode("utf-8", errors="replace")

    def lines(self, path: str) -> list[str]:
        return self.text(path).split("\n")

    def under(self, *folders: str, ends: tuple[str, ...] = ("",)) -> list[str]:
        """The files in these folders, at any depth, whose names end so."""
        starts = tuple(folder + "/" for folder in folders)
        return [path for path in self.paths if path.startswith(starts) and path.endswith(ends)]


def line_of(text: str, offset: int) -> int:
    return text.count("\n", 0, offset) + 1
