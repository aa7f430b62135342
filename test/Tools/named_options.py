"""Checks that options which messages name exist: `--option` of a tool, `'option' of PASS`.

    named_options.py SOURCES
"""
from __future__ import annotations

import pathlib
import re
import subprocess
import sys

SOURCES = pathlib.Path(sys.argv[1])
FOLDERS = ("lib", "runtime", "tools", "python")
# Options of other programs.
FOREIGN = {"gpu-name", "load-dialect-plugin", "nproc-per-node"}
_STRING = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
_JOINED = re.compile(r'"\s*\n\s*"')
_OPTION = re.compile(r"(?<![\w-])--([a-z][a-z0-9-]+)")
_OF_PASS = re.compile(r"'([a-z]+(?:-[a-z]+)+)'(?: of (?:the pass )?(tp-[a-z-]+))?")


def options_of_passes() -> dict[str, set[str]]:
    """The options of every pass of the reference."""
    found: dict[str, set[str]] = {}
    name = ""
    for line in (SOURCES / "docs/reference/passes.md").read_text(encoding="utf-8").splitlines():
        if heading := re.match(r"### `-(tp-[a-z-]+)`", line):
            name = heading[1]
        elif option := re.match(r"-([a-z-]+) +:", line):
            found.setdefault(name, set()).add(option[1])
    return found


def main() -> int:
    """Prints what is named and does not exist; how many names there are."""
    helps = [subprocess.run([tool, flag], capture_output=True, text=True, check=True).stdout
             for tool, flag in (("tp-compile", "--help-hidden"), ("tp-run", "--help"))]
    known = {name for text in helps for name in _OPTION.findall(text)} | FOREIGN
    # Those that tp-run does not show.
    known.update(re.findall(r'(?:\{|name == )"([a-z-]+)"', (
        SOURCES / "tools/tp-run/Options.cpp").read_text(encoding="utf-8")))
    # Those of commands of the package are in other files than their code.
    for path in (SOURCES / "python/tp/shell").glob("*.py"):
        known.update(declared(path))
    passes = options_of_passes()
    every = {option for options in passes.values() for option in options}
    count = wrong = 0
    for path in sorted(path for folder in FOLDERS for path in (SOURCES / folder).rglob("*")
                       if path.suffix in (".cpp", ".h", ".py")):
        text = _JOINED.sub("", path.read_text(encoding="utf-8"))
        for literal in _STRING.findall(text):
            named = [(f"--{name}", name in known or name in declared(path))
                     for name in _OPTION.findall(literal)]
            named += [(f"'{name}'", name in (passes.get(owner, ()) if owner else known))
                      for name, owner in _OF_PASS.findall(literal) if owner or name in every]
            count += len(named)
            for name, exists in named:
                if not exists:
                    wrong += 1
                    print(f"{path.relative_to(SOURCES)}: {name} is no option: {literal!r}")
    print(f"{count > 50} names, {wrong} wrong")
    return 1 if wrong else 0


def declared(path: pathlib.Path) -> set[str]:
    """Options of Python's parsers, and those of other tools that the file calls."""
    return set(re.findall(r'add_argument\([^)]*?"--([a-z-]+)"', path.read_text(encoding="utf-8")))


if __name__ == "__main__":
    sys.exit(main())
