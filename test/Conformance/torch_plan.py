"""Writes plans as Python, gives them to PyTorch, and compares the layouts of parameters.

    torch_plan.py FOLDER
"""
from __future__ import annotations

import copy
import os
import runpy
import sys
from typing import Any

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.tensor import DTensor
from torch.distributed.tensor.parallel import parallelize_module
from torch.testing._internal.distributed.fake_pg import FakeStore

import tp
from cases import CASES

RANKS = 4
FOLDER = sys.argv[1]
module = CASES["whole models: a decoder, tensor parallel"].module
PLANS: dict[str, Any] = {
    "auto": "auto", "Megatron": CASES["whole models: a decoder, tensor parallel"].plan,
    "sequence parallel": CASES["whole models: a decoder, sequence parallel"].plan}

dist.init_process_group("fake", rank=0, world_size=RANKS, store=FakeStore())
mesh = init_device_mesh("cpu", (RANKS,), mesh_dim_names=("tp",))
model = tp.export(module, (torch.zeros(2, 8, dtype=torch.long),))
for name, plan in PLANS.items():
    path = os.path.join(FOLDER, "plan.py")
    with tp.compile(model, plan=plan, mesh=RANKS, write_plan=f"torch:{path}") as program:
        layouts = program.layouts
    made = copy.deepcopy(module)
    for axis, entries in runpy.run_path(path)["plans"].items():
        parallelize_module(made, mesh[axis], entries, src_data_rank=None)
    sharded = 0
    for parameter, value in made.named_parameters():
        placement = value.placements[0] if isinstance(value, DTensor) else None
        shard = f"tp: shard<{placement.dim}>" if type(placement).__name__ == "Shard" else "replicate"
        assert layouts[parameter] == shard, (name, parameter, layouts[parameter], placement)
        sharded += shard != "replicate"
    print(f"{name}: {len(list(made.parameters()))} parameters, {sharded} in shards, all lie as in tp",
          flush=True)
