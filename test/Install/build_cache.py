"""What a build of tp is built with, for projects that are built against it."""
import argparse
import os
import re


def cached(build: str, name: str) -> str:
    """The value of a variable in the cache of the build folder."""
    with open(os.path.join(build, "CMakeCache.txt"), encoding="utf-8") as file:
        found = re.search(rf"^{re.escape(name)}:\w+=(.*)$", file.read(), re.M)
    if not found:
        raise KeyError(f"{build}/CMakeCache.txt: expected {name}")
    return found[1]


def environment(build: str) -> dict[str, str]:
    """The build's compilers, for a CMake that is told nothing else."""
    return dict(os.environ, CMAKE_GENERATOR="Ninja",
                CC=cached(build, "CMAKE_C_COMPILER"),
                CXX=cached(build, "CMAKE_CXX_COMPILER"))


def arguments(description: str, subject: str) -> argparse.Namespace:
    """The command line SUBJECT --build=DIR --folder=DIR."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(subject)
    parser.add_argument("--build", required=True)
    parser.add_argument("--folder", required=True)
    return parser.parse_args()
