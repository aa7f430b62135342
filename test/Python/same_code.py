"""Every block of Python in one page is a block of another one.

    same_code.py ORIGINAL.md COPY.md
"""
from __future__ import annotations

import re
import sys


def blocks(path: str) -> list[str]:
    with open(path, encoding="utf-8") as file:
        return re.findall(r"^```python\n(.*?)^```$", file.read(), re.MULTILINE | re.DOTALL)


original, copy = (blocks(path) for path in sys.argv[1:])
assert copy, f"{sys.argv[2]} has no block of Python"
for block in copy:
    assert block in original, f"{sys.argv[1]} has no such block:\n{block}"
