"""The tools of the compiler: where they are, and how they are called."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Sequence
from importlib import metadata

from .errors import CompileError
from .progress import Stages

_PACKAGE = os.path.dirname(os.path.abspath(__file__))


def find_tool(name: str) -> str:
    """The path of a tool: of the folder TP_TOOLS, of the package (a wheel has it), of the build
    that the package is in, of the search path. Raises CompileError."""
    asked = os.environ.get("TP_TOOLS")
    if asked:
        path = os.path.join(asked, name)
        if not os.access(path, os.X_OK):
            raise CompileError(f"no {name} in {asked}, which TP_TOOLS names: set it to the folder "
                               "bin of a build or an installation of tp")
        return path
    places = [os.path.join(_PACKAGE, "prefix", "bin", name),
              os.path.join(_PACKAGE, "..", "..", "bin", name)]
    for path in places:
        if os.access(path, os.X_OK):
            return os.path.normpath(path)
    found = shutil.which(name)
    if found is None:
        raise CompileError(f"no {name}: expected it in the package, in TP_TOOLS or in PATH: install "
                           "tp's wheel, or set TP_TOOLS to the folder bin of a build of tp")
    return found


def version() -> str:
    """tp's version: of the sources that the package is in, else of its installation."""
    sources = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "..", "cmake",
                           "Version.cmake")
    if os.path.exists(sources):
        with open(sources, encoding="utf-8") as file:
            found = re.search(r"TP_VERSION ([0-9.]+)", file.read())
        if found is not None:
            return found.group(1)
    return metadata.version("tp")


def _environment() -> dict[str, str]:
    """The linker of the package, which tp-compile calls, comes last in the search path."""
    folder = os.path.join(_PACKAGE, "prefix", "bin")
    if not os.path.isdir(folder):
        return dict(os.environ)
    path = os.environ.get("PATH", os.defpath)
    return dict(os.environ, PATH=os.pathsep.join([path, folder]))


def run_tool(name: str, arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    """Runs a tool to its end, and shows how long it takes. Raises CompileError where it cannot be
    started or crashes."""
    path = find_tool(name)
    try:
        tool = subprocess.Popen([path, *arguments], env=_environment(), stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                errors="replace")
    except OSError as error:
        raise CompileError(f"cannot run {path}: {error.strerror}") from error
    with tool, Stages(name) as stages:
        try:
            printed, errors = _ended(tool, stages)
        except BaseException:  # such as ^C
            tool.kill()
            raise
    if tool.returncode < 0:
        raise CompileError(f"{name} was ended by signal {-tool.returncode}: this is a bug of tp, or "
                           "memory ran out", diagnostics=errors)
    return subprocess.CompletedProcess(tool.args, tool.returncode, printed, errors)


def _ended(tool: subprocess.Popen[str], stages: Stages) -> tuple[str, str]:
    """What the tool prints until its end."""
    while True:
        try:
            return tool.communicate(timeout=1)
        except subprocess.TimeoutExpired:
            stages.wait()
