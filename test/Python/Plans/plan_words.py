"""Entries that messages quote are items of a dict: what such an item stands for is the entry."""
from __future__ import annotations

import re

import tp
from tp.plan_words import in_dict_words
from tp.plans import plan_text

ENTRIES = [
    'tp.argument "down" shard<0>',
    'tp.argument "tokens" replicate',
    'tp.result "logits" partial<sum>',
    'tp.argument "m" partial<max>',
    'tp.parallelize "layers.*.up" with colwise',
    'tp.parallelize "layers.*.up" with colwise {output_layouts = replicate, use_local_output = false}',
    'tp.parallelize "<loss>" with prepare_module_input {input_layouts = [partial<sum>, none], '
    'desired_input_layouts = [replicate, none]}',
    'tp.parallelize "a" with prepare_module_input {input_kwarg_layouts = {"x" = shard<1>}, '
    'desired_input_kwarg_layouts = {"x" = replicate}}',
    'tp.parallelize "norm" with sequence_parallel {sequence_dim = 2}',
    'tp.parallelize "layers.0.up" with packed_colwise {override = true}',
    'tp.parallelize "layers.0.up" with rowwise {output_layouts = shard<1>, override = true}',
    'tp.fully_shard "layers.*"',
    'tp.recompute ""',
]
for entry in ENTRIES:
    text = in_dict_words(f"m.mlir: note: write '{entry}' in place of plan entry ''; 'x'")
    found = re.fullmatch(r"m.mlir: note: write '(.*)' in place of plan entry ''; 'x'", text)
    assert found is not None and "tp.parallelize" not in text, text
    plan = eval("{" + found.group(1) + "}", {"tp": tp})
    assert f"  {entry}\n" in plan_text(plan, {"tp": 2}).text, (entry, plan_text(plan, {"tp": 2}).text)

# Both answers of a warning.
for entry, whole, other in (('tp.argument "down" shard<0>', "replicate", "tp.Replicate()"),
                            ('tp.parallelize "down" with rowwise', "with replicate", '"replicate"')):
    text = in_dict_words(f"to split the product too, write '{entry}'; to keep it whole, '{whole}'")
    assert text.endswith(f"; to keep it whole, '{other}'"), text

# An option of an entry that there is.
for option, argument in (("input_layouts = [shard<1>]", "input_layouts=[tp.Shard(1)]"),
                         ('input_kwarg_layouts = {"x" = replicate}',
                          'input_kwarg_layouts={"x": tp.Replicate()}')):
    text = in_dict_words(f"to ask for it, write '{option}' at this entry, plan entry 'output'")
    assert text == f"to ask for it, write '{argument}' at this entry, plan entry 'output'", text
assert in_dict_words("'override = true' at this entry") == "'tp.Override(STYLE)' at this entry"

# What is no entry of a dict stays.
for text in ("expected 'tp.argument'", "'tp.rule \"x\" {}'", "write 'tp.argument \"x\" shard'"):
    assert in_dict_words(text) == text, in_dict_words(text)
