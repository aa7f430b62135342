"""Trains a small Llama on the first chapter of Alice's Adventures in Wonderland, byte by byte.

Each step reads at random places of the text and learns to predict the next byte. Parameters and the
optimizer's states stay on the ranks. A checkpoint is written now and then; a run that finds one in
its folder goes on from there, on any mesh. At the end it plots the loss.

    examples/train/run.py --mesh=tp=4
    examples/train/run.py --mesh=dp=2,tp=2         on the axis dp parameters and states are shards
    examples/train/run.py --mesh=tp=4 --tp-run     the steps run without Python
    examples/train/run.py --torch                  PyTorch's own loop, to compare with

Needs the package tp; to export the model, once for a folder, torch, torch-mlir and transformers.
"""
from __future__ import annotations

import argparse
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

import tp
from plot import plot, read

if TYPE_CHECKING:
    import torch
    import transformers

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BATCH, LENGTH, RATE, WARM_UP, CLIP = 8, 64, 3e-3, 20, 1.0
INDEX = "model.safetensors.index.json"


def llama() -> transformers.LlamaForCausalLM:
    """A Llama of two layers for bytes, with random weights."""
    import torch
    import transformers
    torch.manual_seed(0)
    config = transformers.LlamaConfig(
        vocab_size=256, hidden_size=64, intermediate_size=176, num_hidden_layers=2,
        num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=LENGTH,
        bos_token_id=None, eos_token_id=None, tie_word_embeddings=False)
    return transformers.LlamaForCausalLM(config).eval()


def loss(output: Any, target: torch.Tensor) -> torch.Tensor:
    """Cross entropy of the next bytes."""
    from torch.nn.functional import cross_entropy
    return cross_entropy(output.logits.flatten(0, 1), target.flatten())


def optimizer(parameters: Any) -> torch.optim.Optimizer:
    """What both loops train with."""
    import torch
    return torch.optim.AdamW(parameters, lr=RATE, weight_decay=0.01)


def schedule(steps: int) -> Any:
    """The rates of all steps: a warm-up, then half of a cosine."""
    import torch

    def rate(step: int) -> float:
        return min((step + 1) / WARM_UP, 0.5 + 0.5 * math.cos(math.pi * step / steps))
    return partial(torch.optim.lr_scheduler.LambdaLR, lr_lambda=rate)


def text_of(path: str) -> np.ndarray[Any, Any]:
    """The bytes of a file."""
    return np.fromfile(path, np.uint8).astype(np.int64)


def batch(text: np.ndarray[Any, Any], step: int) -> tuple[np.ndarray[Any, Any], ...]:
    """The bytes at random places and those behind them: the same for a step in every run."""
    places = np.random.default_rng(step).integers(0, len(text) - LENGTH, BATCH)
    rows = np.stack([text[place:place + LENGTH + 1] for place in places])
    return np.ascontiguousarray(rows[:, :-1]), np.ascontiguousarray(rows[:, 1:])


def torch_losses(text: np.ndarray[Any, Any], steps: int) -> Iterator[float]:
    """PyTorch's own loop."""
    import torch
    module = llama()
    own = optimizer(module.parameters())
    rates = schedule(steps)(own)
    for step in range(steps):
        tokens, target = (torch.from_numpy(array) for array in batch(text, step))
        value = loss(module(tokens), target)
        own.zero_grad()
        value.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), CLIP)
        own.step()
        rates.step()
        yield value.item()


class Losses:
    """The file of losses, which a run that goes on from a checkpoint cuts to its steps."""

    def __init__(self, path: str, done: int) -> None:
        self.values = read(path)[:done] if done and os.path.exists(path) else []
        if len(self.values) != done:
            sys.exit(f"{path}: has {len(self.values)} losses and the checkpoint has {done} steps: "
                     "remove the folder to begin anew")
        with open(path + ".part", "w", encoding="utf-8") as file:
            file.writelines(f"{step},{value!r}\n" for step, value in enumerate(self.values))
        os.replace(path + ".part", path)
        self._file = open(path, "a", encoding="utf-8")

    def add(self, value: float) -> None:
        """Appends the loss of the next step."""
        self._file.write(f"{len(self.values)},{value!r}\n")
        self._file.flush()
        self.values.append(value)


def model_of(options: argparse.Namespace) -> str:
    """The folder of the step for so many steps, which is exported once."""
    folder = os.path.join(options.folder, f"model-{options.steps}")
    if os.path.exists(os.path.join(folder, "ports.json")):
        return folder
    import torch
    import transformers
    transformers.utils.logging.set_verbosity_error()
    module = llama()
    zeros = torch.zeros(BATCH, LENGTH, dtype=torch.int64)
    model = tp.export_training(module, loss, optimizer, ({"input_ids": zeros}, zeros),
                               clip_grad_norm=CLIP, lr_scheduler=schedule(options.steps),
                               steps=options.steps)
    model.save(folder)
    module.config.save_pretrained(folder)
    return folder


def compiled(options: argparse.Namespace) -> tp.Program:
    """The step for the mesh: FSDP on the axis dp, the model's own plan on the axis tp."""
    folder = model_of(options)
    mesh = {name: int(size) for name, _, size in
            (axis.partition("=") for axis in options.mesh.split(","))} if options.mesh else None
    plans: dict[str, Any] = {"dp": {"model.layers.*": tp.FullyShard(), "": tp.FullyShard()},
                             "tp": "hf"}
    plan = None if mesh is None else {axis: plans[axis] for axis in mesh}
    return tp.compile(tp.Model.load(folder), plan=plan, mesh=mesh, launch=options.launch)


def train(options: argparse.Namespace, text: np.ndarray[Any, Any]) -> list[float]:
    """Trains in this process, from the checkpoint if there is one."""
    checkpoint = os.path.join(options.folder, "checkpoint")
    with compiled(options) as program:
        done = 0
        if os.path.exists(os.path.join(checkpoint, INDEX)):
            program.load_checkpoint(checkpoint)
            done = int(program.state["opt_step:step"])
            print(f"goes on after step {done}")
        losses = Losses(os.path.join(options.folder, "losses.csv"), done)
        print(f"{program.size} ranks, {program.memory.total:,} bytes each", flush=True)
        begin, norm = time.perf_counter(), 0.0

        def status() -> str:
            seconds = max(time.perf_counter() - begin, 1e-9)
            speed = (len(losses.values) - done) * BATCH * LENGTH / seconds
            return (f"loss {losses.values[-1]:.3f}, gradient's norm {norm:.2f}, {speed:,.0f} tokens "
                    "per second")
        for step in tp.progress(range(done, options.steps), label="training", status=status):
            tokens, target = batch(text, step)
            value, norm = (float(result) for result in program(input_ids=tokens, target=target))
            losses.add(value)
            if (step + 1) % options.save_every == 0 or step + 1 == options.steps:
                program.save_checkpoint(checkpoint)
                print(f"step {step + 1}: {status()}", flush=True)
    return losses.values


def train_by_tp_run(options: argparse.Namespace, text: np.ndarray[Any, Any]) -> None:
    """The same by tp-run: a file for every batch, and no Python between the steps."""
    with compiled(options) as program:
        program.save(os.path.join(options.folder, "step.tp"))
    batches = os.path.join(options.folder, "batches")
    os.makedirs(batches, exist_ok=True)
    for step in range(options.steps):
        for name, array in zip(("tokens", "target"), batch(text, step)):
            np.save(os.path.join(batches, f"{name}-{step}.npy"), array)
    subprocess.run([tp.tools.find_tool("tp-run"), "step.tp",
                    f"--weights={os.path.abspath(model_of(options))}/weights.safetensors",
                    "--input=input_ids=@batches/tokens-*.npy",
                    "--input=target=@batches/target-*.npy", "--output=loss=@loss.npy",
                    "--save-state=checkpoint", "--stats"], cwd=options.folder, check=True)
    last = float(np.load(os.path.join(options.folder, "loss.npy")))
    print(f"the last loss is {last:.4f}; {options.folder}/checkpoint is the checkpoint")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mesh", help="dp=2,tp=2; one rank without it")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--save-every", type=int, default=50, metavar="STEPS")
    parser.add_argument("--folder", default=os.path.join(ROOT, "build", "train"))
    parser.add_argument("--text", default=os.path.join(HERE, "alice.txt"), help="any file")
    parser.add_argument("--launch", choices=["thread", "process"])
    parser.add_argument("--tp-run", action="store_true")
    parser.add_argument("--torch", action="store_true")
    options = parser.parse_args(arguments)
    try:
        run(options)
    except KeyboardInterrupt:
        has_checkpoint = os.path.exists(os.path.join(options.folder, "checkpoint", INDEX))
        goes_on = "; the same command goes on from the checkpoint" if (
            has_checkpoint and not options.tp_run and not options.torch) else ""
        print(f"run.py: interrupted{goes_on}", file=sys.stderr)
        sys.exit(130)  # as shells say of a command that ^C has ended


def run(options: argparse.Namespace) -> None:
    """Trains as the options say, and plots the loss."""
    os.makedirs(options.folder, exist_ok=True)
    text = text_of(options.text)
    if options.tp_run:
        train_by_tp_run(options, text)
        return
    if options.torch:
        file = Losses(os.path.join(options.folder, "losses.csv"), 0)
        for value in torch_losses(text, options.steps):
            file.add(value)
        losses = file.values
    else:
        losses = train(options, text)
    image = os.path.join(options.folder, "loss.svg")
    with open(image, "w", encoding="utf-8") as picture:
        picture.write(plot({"PyTorch" if options.torch else options.mesh or "one rank": losses}))
    print(f"the last loss is {losses[-1]:.4f}; {image} has all of them")


if __name__ == "__main__":
    main()
