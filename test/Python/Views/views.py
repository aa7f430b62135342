"""Pictures of layouts and trees of collectives, against the arrays and tables that they show.

    views.py EXAMPLE
"""
from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

import tp
from tp.artifact import Collective
from tp.views.communication import tree_of

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
from refusals import refused  # noqa: E402  pylint: disable=wrong-import-position

EXAMPLE = sys.argv[1]
PLAN = {"layers.*.attention.wq": "colwise", "layers.*.attention.wk": "colwise",
        "layers.*.attention.wv": "colwise", "layers.*.attention.wo": "rowwise",
        "layers.*.feed_forward.w1": "colwise", "layers.*.feed_forward.w3": "colwise",
        "layers.*.feed_forward.w2": "rowwise", "result 0": tp.Shard(2)}


def shows(value, expected):
    assert repr(value).split() == expected.split(), value
    assert [len(line) - len(line.lstrip()) for line in repr(value).splitlines()] == [
        len(line) - len(line.lstrip()) for line in expected.splitlines()], value


def check_pictures(program):
    picture = tp.visualize_sharding(program, "layers.0.attention.wo.weight")
    assert repr(picture) == ("""\
layers.0.attention.wo.weight: f32[128, 128], [shard<1>] on tp = 2

              columns 0-63  columns 64-127
  rows 0-127  rank 0        rank 1

  a rank's buffer is [128, 64]"""), picture
    drawing = ElementTree.fromstring(picture.svg)
    assert len(drawing.findall("{http://www.w3.org/2000/svg}rect")) == 2
    assert picture._repr_svg_() == picture.svg
    assert "dim 2: 256-511" in repr(tp.visualize_sharding(program, program.result_names[0]))
    class Array:
        shape = (4, 2)
    assert repr(tp.visualize_sharding(Array(), tp.Shard(-2), mesh=2)) == """\
[4, 2], [shard<0>] on tp = 2

            columns 0-1
  rows 0-1  rank 0
  rows 2-3  rank 1

  a rank's buffer is [2, 2]"""
    with tempfile.TemporaryDirectory() as folder:
        artifact, file = os.path.join(folder, "a.tp"), os.path.join(folder, "wo.svg")
        program.save(artifact)
        name = "layers.0.attention.wo.weight"
        printed = subprocess.run(
            ["tp-run", artifact, f"--sharding={name}", f"--sharding={name}=@{file}"],
            capture_output=True, text=True, check=True).stdout
        assert printed == str(picture) + "\n", printed
        with open(file, encoding="utf-8") as text:
            assert text.read() == picture.svg
        wrong = subprocess.run(["tp-run", artifact, "--sharding=layers.0.attention.wx.weight"],
                               capture_output=True, text=True, check=False)
        assert wrong.returncode == 1 and wrong.stderr.startswith(
            "tp-run: error: --sharding: no argument is called 'layers.0.attention.wx.weight', did "
            "you mean 'layers."), wrong.stderr
    refused(lambda: tp.visualize_sharding(program, "layers.0.attention.wx.weight"),
            "argument or result 'layers.0.attention.wx.weight': no such name, did you mean "
            "'layers.0.attention.wv.weight'?")
    refused(lambda: tp.visualize_sharding((4,), tp.Shard(0)),
            "visualize_sharding: expected mesh= for a shape, such as mesh={'tp': 4}")
    refused(lambda: tp.visualize_sharding((4,), tp.Shard(1), mesh=2),
            "visualize_sharding: shard<1> needs that dimension, the array has 1")
    refused(lambda: tp.visualize_sharding((4,), [tp.Shard(0)], mesh={"dp": 2, "tp": 2}),
            "visualize_sharding: expected a placement for each of the 2 axes dp, tp, got 1")
    refused(lambda: tp.visualize_sharding((4,), {"cp": tp.Shard(0)}, mesh=2),
            "visualize_sharding: the mesh has no axis 'cp', it has tp")
    shows(tp.visualize_sharding((4,), tp.Partial("max"), mesh=2), """\
[4], [partial<max>] on tp = 2

  elements 0-3
  ranks 0-1

  the numbers of the ranks along tp are reduced by max""")
    refused(lambda: tp.visualize_sharding((4,), tp.Partial("mean"), mesh=2),
            "visualize_sharding: port.layout[0].partial: unknown reduction 'mean', expected one of: "
            "sum avg product max min")
    refused(lambda: tp.visualize_sharding("w", tp.Shard(0), mesh=2),
            "visualize_sharding: expected a program, a shape or an array, got str")


def check_tree(program):
    tree = program.collectives.tree
    shows(tree, """\
collectives a step by module, and their payload bytes
  module               collective  forward
  the model            all_reduce  4: 131,072 B
    layers             all_reduce  4: 131,072 B
      0                all_reduce  2: 65,536 B
        attention.wo     all_reduce  1: 32,768 B
        feed_forward.w2  all_reduce  1: 32,768 B
      1                all_reduce  2: 65,536 B
        attention.wo     all_reduce  1: 32,768 B
        feed_forward.w2  all_reduce  1: 32,768 B""")
    total = tree.sent["forward"]["all_reduce"]
    assert (total.count, total.payload_bytes) == (4, 4 * 32768)
    node = tree.find("layers.1.attention.wo")
    assert node.sent["forward"]["all_reduce"].count == 1 and len(node.own) == 1
    assert tree.find("layers.1.attention.wq") is None
    assert [child.path for child in tree.find("layers")] == ["layers.0", "layers.1"]
    assert ElementTree.fromstring(tree._repr_html_()).find("tbody") is not None
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "report.json")
        program.report(path)
        with open(path, encoding="utf-8") as file:
            report = json.load(file)
    compare(tree, report["modules"][0])


def compare(node, row):
    """The tree of Python and that of the report."""
    assert row["module"] == node.path, (row["module"], node.path)
    sent = {(one["direction"], one["kind"]): (one["count"], one["payload_bytes"])
            for one in row["sent"]}
    own = {(direction, kind): (one.count, one.payload_bytes)
           for direction, kinds in node.sent.items() for kind, one in kinds.items()}
    assert sent == own, (node.path, sent, own)
    below = row.get("modules", [])
    assert len(below) == len(node.children)
    for child, other in zip(node, below):
        compare(child, other)


def check_directions():
    def row(module, kind="all_reduce", size=8, count=1):
        return Collective(kind, "tp", 2, "f32", size, size, size, count, module, "", "")
    tree = tree_of([row("a.b"), row("bwd:a.b", count=3), row("a.c.d", "all_gather", 5000),
                    row("<optim>.a.b.weight"), row(""), row("<loss>")])
    shows(tree, """\
collectives a step by module, and their payload bytes
  module        collective  forward     backward  optimizer
  the model     all_reduce  3: 24 B     3: 24 B   1: 8 B
                all_gather  1: 5,000 B
    a           all_reduce  1: 8 B      3: 24 B   1: 8 B
                all_gather  1: 5,000 B
      b         all_reduce  1: 8 B      3: 24 B   1: 8 B
        weight  all_reduce                        1: 8 B
      c.d       all_gather  1: 5,000 B
    <loss>      all_reduce  1: 8 B""")


with tp.compile(EXAMPLE, plan=PLAN, mesh=2) as compiled:
    check_pictures(compiled)
    check_tree(compiled)
check_directions()
print("pictures and trees are right")
