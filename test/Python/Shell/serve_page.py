"""Runs the page docs/serve.md: its first block in this process, which has torch, then its files and
commands in processes that have numpy alone.

    serve_page.py PAGE.md FOLDER
"""
from __future__ import annotations

import os
import re
import subprocess
import sys

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$|((?:^    \S[^\n]*\n)+)", re.MULTILINE | re.DOTALL)
FILE = re.compile(r"ave it as\s+`([\w.]+)`:\s*\Z")
# What is not on the machine that serves.
WITHOUT = ("import sys\n"
           "sys.modules.update(dict.fromkeys(['torch', 'torch_mlir', 'transformers', 'jax']))\n")


def environment(folder: str) -> dict[str, str]:
    """`python` is this one without the packages, and a job of this run alone."""
    hidden = os.path.join(folder, "hidden")
    os.mkdir(hidden)
    with open(os.path.join(hidden, "sitecustomize.py"), "w", encoding="utf-8") as file:
        file.write(WITHOUT)
    os.symlink(sys.executable, os.path.join(hidden, "python"))
    search = os.pathsep.join([hidden, os.environ["PYTHONPATH"]])
    return {**os.environ, "PYTHONPATH": search, "PYTHONDONTWRITEBYTECODE": "1",
            "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]])}


def main() -> None:
    page, folder = sys.argv[1:]
    with open(page, encoding="utf-8") as file:
        text = file.read()
    os.chdir(folder)
    variables = environment(folder)
    exported = commands = files = 0
    printed, end = "", 0
    for block in BLOCK.finditer(text):
        language, code, command = block.groups()
        before, end = text[end:block.start()], block.end()
        if command:
            assert not printed, f"the page does not show that a command prints {printed!r}"
            run = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", command.replace("29500", str(os.getpid()))],
                env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            assert run.returncode == 0 and not run.stderr, f"{command}{run.stdout}{run.stderr}"
            printed = "" if "-m tp compile" in command else run.stdout
            commands += 1
        elif not language:
            assert before.strip() == "prints", f"expected 'prints' before {code!r}"
            assert code == printed, f"the page shows\n{code}\nits command prints\n{printed}"
            printed = ""
        elif named := FILE.search(before):
            with open(named.group(1), "w", encoding="utf-8") as file:
                file.write(code)
            files += 1
        else:
            exec(compile(code, page, "exec"), {"__name__": "__main__"})
            exported += 1
            with open("model.tp", "rb") as file:
                first = file.read()
    with open("model.tp", "rb") as file:
        assert file.read() == first, "the command of the shell makes another artifact"
    print(f"{exported} block of code, {files} files, {commands} commands")


if __name__ == "__main__":
    main()
