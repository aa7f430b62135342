"""Compiles, loads and trains a model whose weights and AdamW's states do not fit one rank's limit.

    limited_memory.py FOLDER TP_RUN PLAN...

The ranks, and the script that starts them, have a limit of the address space (setrlimit) that is
less than the bytes of weights and states. It comes from measurements: what a process takes for a
small model of the same kind, and what a rank holds of the large one. Losses and parameters are
PyTorch's, for shards of parameters on dp=4 and for tensor parallelism on tp=4. tp-run does the same
steps under a limit of its own. Where the limit is too small for a quarter, an error says so.
"""
from __future__ import annotations

import functools
import json
import os
import re
import resource
import subprocess
import sys
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import nn

import tp

FOLDER, TP_RUN, *NAMES = sys.argv[1:]
RANKS, ROWS, LAYERS, WIDE, NARROW = 4, 16, 20, 2048, 64
# Updates that are smooth in the gradients: a rounding of one near zero does not turn its update.
ADAMW = functools.partial(torch.optim.AdamW, lr=1e-3, eps=1e-2)
PLANS: dict[str, tuple[dict[str, int], dict[str, Any]]] = {
    "fsdp": ({"dp": RANKS}, {"*": tp.FullyShard()}),
    "tp": ({"tp": RANKS}, {f"{2 * i}": "rowwise" if i % 2 else "colwise" for i in range(LAYERS)})}
# What the measured process of a small model does not tell of: pieces, pages, heaps.
MARGIN = 96 << 20


def model(width: int) -> nn.Module:
    layers: list[nn.Module] = []
    for _ in range(LAYERS):
        layers += [nn.Linear(width, width, bias=False), nn.Tanh()]
    return nn.Sequential(*layers)


def loss_of(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (output - target).square().sum() / ROWS


def used() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGESIZE")


def path(name: str, width: int) -> str:
    return os.path.join(FOLDER, f"{name}-{width}")


def compile_model(module: nn.Module, width: int) -> int:
    """Writes the artifacts, batches, and first states. Returns the bytes of weights and states."""
    batch = torch.zeros(ROWS, width), torch.zeros(ROWS, width)
    exported = tp.export_training(module, loss_of, ADAMW, batch)
    for name, (mesh, plan) in PLANS.items():
        with tp.compile(exported, plan=plan, mesh=mesh) as program:
            program.save(path(name, width))
    states = {}
    for key, value in exported.weights.items():
        if key.startswith("opt_"):
            states[key] = value
    write_zeros(path("states", width) + ".safetensors", states)
    return sum(value.numel() * value.element_size() for value in exported.weights.values())


def write_zeros(name: str, tensors: dict[str, torch.Tensor]) -> None:
    """A file of zeros that takes no room on the disk."""
    header, end = {}, 0
    for key, value in tensors.items():
        assert not value.any()
        begin, end = end, end + value.numel() * value.element_size()
        dtype = {torch.float32: "F32", torch.int64: "I64"}[value.dtype]
        header[key] = {"dtype": dtype, "shape": list(value.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    with open(name, "wb") as file:
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + end)


def write_weights(module: nn.Module, width: int) -> None:
    """Four files, as of a large model."""
    state = {key: value.contiguous() for key, value in module.state_dict().items()}
    for shard in range(RANKS):
        save_file(dict(list(state.items())[shard::RANKS]), files(width)[shard])


def files(width: int) -> list[str]:
    return [path(f"weights-{shard}", width) + ".safetensors" for shard in range(RANKS)]


def export() -> int:
    """Writes all that runs need, also of the small model. Returns the bytes of weights and states.
    The export has room for the module, and none for the states."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    torch.manual_seed(0)
    total = 0
    for width in NARROW, WIDE:  # the first loads what an export and a compilation need
        room = width * width * 4 * LAYERS
        if width == WIDE:
            resource.setrlimit(resource.RLIMIT_AS, (used() + 2 * room, hard))
        module = model(width)
        for parameter in module.parameters():
            nn.init.normal_(parameter, std=width ** -0.5)
        total = compile_model(module, width)
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        write_weights(module, width)
        batches = torch.randn(4, 2, ROWS, width)
        np.save(path("batches", width) + ".npy", batches.numpy())
        for i, pair in enumerate(batches[:3]):  # tp-run takes as many steps
            for name, array in zip("xy", pair):
                np.save(path(f"{name}-{i}", width) + ".npy", array.numpy())
    print(f"the export's room is less than weights and states: {2 * room < total}")
    return total


def train(name: str, width: int, limit: int) -> list[str]:
    """What limited_ranks.py prints."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "limited_ranks.py")
    done = subprocess.run(
        [sys.executable, script, path(name, width), path("batches", width) + ".npy", str(limit),
         path(f"{name}-checkpoint", width), *files(width), path("states", width) + ".safetensors"],
        stdout=subprocess.PIPE, text=True, check=False)
    return done.stdout.splitlines()


class Reference:
    """PyTorch's losses of four steps, and the parameters and states after three."""

    def __init__(self) -> None:
        module = model(WIDE)
        module.load_state_dict({key: value for name in files(WIDE)
                                for key, value in load_file(name).items()})
        optimizer = ADAMW(module.parameters())
        self.losses: list[float] = []
        for i, (x, y) in enumerate(torch.from_numpy(np.load(path("batches", WIDE) + ".npy"))):
            if i == 3:
                self.held = {key: value.clone() for key, value in module.state_dict().items()}
                for key, parameter in module.named_parameters():
                    for state in "exp_avg", "exp_avg_sq":
                        self.held[f"opt_{state}:{key}"] = optimizer.state[parameter][state].clone()
            optimizer.zero_grad()
            loss = loss_of(module(x), y)
            loss.backward()
            optimizer.step()
            self.losses.append(loss.item())

    def check(self, losses: list[float], folder: str) -> None:
        """Compares them with a checkpoint of three steps, and losses of those or of four."""
        np.testing.assert_allclose(losses, self.losses[:len(losses)], rtol=1e-4)
        count = 0
        for name in os.listdir(folder):
            if not name.endswith(".safetensors"):
                continue
            for key, value in load_file(os.path.join(folder, name)).items():
                if key in self.held:
                    torch.testing.assert_close(value, self.held[key], rtol=1e-3, atol=1e-5)
                    count += 1
        assert count == len(self.held), (count, len(self.held))


def tp_run(name: str, limit: int) -> tuple[int, str]:
    """Three steps by tp-run under a limit, with a checkpoint: exit status, and what it prints."""
    weights = [f"--weights={file}" for file in files(WIDE)]
    weights.append(f"--weights={path('states', WIDE)}.safetensors")
    inputs = [f"--input={port}=@{path(f'{letter}-?', WIDE)}.npy"
              for letter, port in (("x", "input"), ("y", "target"))]
    done = subprocess.run(
        ["/bin/sh", "-c", f'ulimit -v {limit >> 10}; exec "$@"', "sh", TP_RUN, path(name, WIDE),
         "--transport=processes", "--no-poison", "--quiet", "--repeat=3", *weights, *inputs,
         f"--save-state={path(f'{name}-run', WIDE)}"],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    return done.returncode, done.stdout


def held_by_a_rank(name: str) -> int:
    """Bytes of a rank's memory, and of what it shares with the script: two tensors, and batches."""
    with tp.load(path(name, WIDE)) as program:
        return program.memory.total + 2 * WIDE * WIDE * 4 + 8 * ROWS * WIDE * 4


def check(name: str, total: int, reference: Reference) -> None:
    """Trains under a limit, and under one that is too small."""
    _, small = train(name, NARROW, 0)
    limit = int(small) + held_by_a_rank(name) + MARGIN
    print(f"{name}: the limit is less than weights and states: {limit < total}")
    losses, = train(name, WIDE, limit)
    reference.check([float.fromhex(loss) for loss in losses.split()],
                    path(f"{name}-checkpoint", WIDE))
    print(f"{name}: equal")
    status, text = tp_run(name, limit)
    assert status == 0, text
    reference.check([], path(f"{name}-run", WIDE))
    print(f"{name}, tp-run: equal")
    for text in (*train(name, WIDE, limit - total // RANKS), tp_run(name, limit // 2)[1].strip()):
        print(f"{name}, too little: {re.sub('[0-9]{5,}', 'N', text)}")


def main() -> None:
    os.makedirs(FOLDER, exist_ok=True)
    total = export()
    torch.set_num_threads(1)
    reference = Reference()
    for name in NAMES:
        check(name, total, reference)


if __name__ == "__main__":
    main()
