#!/usr/bin/env python3
"""Configures a project with the compilers of a build, and prints what would be linked.

  configure.py SOURCE FOLDER --build=DIR [-DNAME=VALUE...]
"""
import argparse
import subprocess
import sys

from build_cache import environment


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source")
    parser.add_argument("folder")
    parser.add_argument("--build", required=True)
    parser.add_argument("-D", dest="definitions", action="append", default=[])
    options = parser.parse_args()
    configured = subprocess.run(
        ["cmake", "-S", options.source, "-B", options.folder,
         *(f"-D{definition}" for definition in options.definitions)],
        env=environment(options.build), text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    if configured.returncode:
        print(configured.stdout)
        return 1
    targets = subprocess.run(["ninja", "-C", options.folder, "-t", "targets", "all"],
                             check=True, stdout=subprocess.PIPE, text=True).stdout
    for line in targets.splitlines():
        output, _, rule = line.partition(": ")
        if "LINKER" in rule:
            print(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
