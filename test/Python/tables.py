"""Prints what a program says of itself, and checks its HTML and its progress bars.

    tables.py EXAMPLE
"""
from __future__ import annotations

import io
import subprocess
import sys
from xml.etree import ElementTree

import tp
from tp.tables import Table

PLAN = {"layers.*.attention.wq": "colwise", "layers.*.attention.wk": "colwise",
        "layers.*.attention.wv": "colwise", "layers.*.attention.wo": "rowwise",
        "layers.*.feed_forward.w1": "colwise", "layers.*.feed_forward.w3": "colwise",
        "layers.*.feed_forward.w2": "rowwise", "result 0": tp.Shard(2)}
program = tp.compile(sys.argv[1], plan=PLAN, mesh=2)
printed = subprocess.run(["tp-compile", "--version"], capture_output=True, text=True, check=True)
assert f"tp {tp.__version__}\n" in printed.stdout, printed.stdout
for shown in (program, program.collectives, program.layouts, program.memory, program.state):
    print(shown)
port = tp.model.Port
model = tp.Model("", [port("x", "user_input", (2,), "f32"), port("c", "buffer", (3,), "f32")],
                 [port("y", "user_output", (2,), "f32"), port("c", "new_buffer", (3,), "f32", "c")],
                 {"c": [1, 2, 3]})
print(model)
for shown in (program, program.collectives, program.layouts, program.memory, model):
    page = ElementTree.fromstring(f"<div>{shown._repr_html_()}</div>")
    assert page.find("table") is not None, shown._repr_html_()
rows = program.collectives
assert isinstance(rows, Table) and rows[0].kind == "all_reduce" and len(rows[1:3]) == 2
assert rows.as_dicts()[0]["ring_bytes_per_rank"] == 32768
assert program.memory["results"] == 2 * 32 * 256 * 4
for named in (program.entries, program.layouts, program.memory, program.state):
    assert "zz" not in named and named.get("zz") is None, named


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


# No bar where stderr is no terminal; the items are the same either way.
assert list(tp.progress([1, 2, 3], label="numbers")) == [1, 2, 3]
old, sys.stderr = sys.stderr, Terminal()
try:
    assert list(tp.progress(iter([1, 2, 3]), total=3)) == [1, 2, 3]
finally:
    sys.stderr = old
