"""Every option of tp-compile is one of tp.compile and of `python -m tp compile`, or has something in
its place; every option of a command says what it does.

    command_options.py
"""
from __future__ import annotations

import argparse
import inspect
import re
import subprocess

import tp
from tp.shell.options import parser as parser_of
from tp.compile_options import ANSWERS, FLAGS, VALUES
from tp.tools import find_tool

# Of tp.compile: what only Python has, and where arrays and ranks are concerned.
PYTHON_ALONE = {"model", "options", "weights", "launch", "timeout", "rules"}
# Of the command: what tp.compile has another word for.
COMMAND_ALONE = {"help", "model", "output"}
# Of tp-compile: what every tool has.
GENERIC = {"help", "help-hidden", "help-list", "help-list-hidden", "version"}


def options_of(parser: argparse.ArgumentParser) -> dict[str, str | None]:
    """The names of what a command takes, with their help."""
    return {action.dest: action.help for action in parser._actions}


def main() -> None:
    printed = subprocess.run([find_tool("tp-compile"), "--help"], capture_output=True, text=True,
                             check=True).stdout
    tool = {name.replace("-", "_")
            for name in re.findall(r"^  --?([a-z][\w-]*)", printed, re.MULTILINE)
            if name not in GENERIC}
    parameters = set(inspect.signature(tp.compile).parameters) - PYTHON_ALONE
    python = parameters | set(FLAGS) | set(VALUES)
    unknown = tool - python - set(ANSWERS)
    assert not unknown, f"tp.compile has nothing for {sorted(unknown)} of tp-compile"
    lacking = (set(FLAGS) | set(VALUES)) - tool
    assert not lacking, f"tp-compile lacks {sorted(lacking)}"

    commands = next(action for action in parser_of("")._actions
                    if isinstance(action, argparse._SubParsersAction)).choices
    command = set(options_of(commands["compile"])) - COMMAND_ALONE
    assert command == python, f"only one of both has {sorted(command ^ python)}"
    for name in ("report", "generate"):
        assert python <= set(options_of(commands[name])), name
    for name, parser in commands.items():
        silent = [option for option, text in options_of(parser).items() if not text]
        assert not silent, f"python -m tp {name} does not say what {silent} are"
    print(f"{len(python)} options of tp.compile and of the command")


if __name__ == "__main__":
    main()
