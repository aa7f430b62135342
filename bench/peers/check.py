"""Whether the models that peers are measured with compute what those of bench/models do.

    PYTHON check.py torch|jax --build=build [--rows=llama,moe] [--ranks=4]

PYTHON has torch or jax. Of every model and plan, at tiny sizes in f64, the training step
that tp runs on one rank against what the peer computes on --ranks ranks under the plan:
of torch, on as many processes, the loss and the gradient of every parameter; of JAX, on
two replicas of as many devices, all results. Exit status 1 where they differ by more than
rounding.
"""

import argparse
import math
import os
import subprocess
import sys
import tempfile

from rows import ROWS  # noqa: I001 (makes bench's modules found)
import adamw
import arrays
import training_step
from models import MODELS
from models.sizes import Sizes

SIZES = {"dim": 32, "layers": 2, "heads": 8, "ff": 40, "vocab": 48, "batch": 4, "seq": 8,
         "positions": 16, "experts": 3}
PLANS = ("tensor-parallel", "sequence-parallel")
TOLERANCE = 1e-9


def execute(command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"error: {' '.join(command)}\n{done.stdout}{done.stderr}")


class Step:
    """A model's training step: what goes into it, and what tp makes of that."""

    def __init__(self, row, build, folder):
        name, isPacked, own = ROWS[row]
        # A model keeps the program that it writes; other processes get one without.
        self.model, model = (MODELS[name](Sizes(**(SIZES | own)), "f64", isPacked)
                             for _ in range(2))
        graph = training_step.training(model)
        numbers, stem = arrays.Numbers(model, 0), os.path.join(folder, "model")
        # In the order in which arrays.write makes them.
        self.values = {(kind, name): numbers.of(kind, name, value.shape)
                       for value, kind, name in graph.arguments}
        arrays.write(folder, model, graph)
        with open(stem + ".mlir", "w") as file:
            graph.write(file)
        execute([f"{build}/bin/tp-compile", stem + ".mlir", "-o", stem + ".tp"])
        command = [f"{build}/bin/tp-run", stem + ".tp", "--ranks=1",
                   f"--weights={folder}/weights.safetensors"]
        command += [f"--input={name}=@{folder}/{name}.npy"
                    for _, kind, name in graph.arguments if kind == "user_input"]
        paths = {}
        for number, (_, kind, name) in enumerate(graph.results):
            full = name if kind in ("loss", "new_step") else f"{kind}:{name}"
            paths[kind, name] = f"{folder}/{number}.npy"
            command.append(f"--output={full}=@{paths[kind, name]}")
        execute(command)
        self.results = {key: arrays.read_npy(path) for key, path in paths.items()}

    def gradient(self, name):
        beta = adamw.AdamW().beta1
        return [(after - beta * before) / (1 - beta) for after, before in
                zip(self.results["new_exp_avg", name], self.values["opt_exp_avg", name])]


def differs(found, expected):
    """By how much, of the size of what is expected."""
    largest = max(1e-3, *map(abs, expected))
    if len(found) != len(expected):
        return math.inf
    return max(abs(f - e) if math.isfinite(f) else math.inf
               for f, e in zip(found, expected)) / largest


def of_jax(steps, ranks):
    """(row, plan, what, difference) of all that there is."""
    import jax_models
    axes = {"dp": 2, "tp": ranks}
    os.environ.update(jax_models.devices_of_host(axes))
    import jax
    jax.config.update("jax_enable_x64", True)

    def placed(shape, values):
        values = jax.numpy.asarray(values, dtype=shape.dtype).reshape(shape.shape)
        return jax.device_put(values, shape.sharding)

    kinds = ("parameter", "opt_exp_avg", "opt_exp_avg_sq")
    for row, step in steps:
        others = [values for (kind, _), values in step.values.items() if kind not in kinds]
        for plan in PLANS:
            function, shapes = jax_models.jitted(jax, step.model, "training", plan, axes)
            arguments = [{name: placed(shape, step.values[kind, name])
                          for name, shape in group.items()}
                         for kind, group in zip(kinds, shapes)]
            arguments += map(placed, shapes[len(kinds):], others)
            loss, *states, number = function(*arguments)
            found = {("loss", "loss"): loss, ("new_step", "step"): number}
            for kind, group in zip(("new_parameter", "new_exp_avg", "new_exp_avg_sq"),
                                   states):
                found |= {(kind, name): value for name, value in group.items()}
            for key, expected in step.results.items():
                yield row, plan, " of ".join(key), differs(
                    found[key].reshape(-1).tolist(), expected)


def of_rank(rank, steps, ranks, folder, queue):
    import dtensor
    import torch
    import torch.distributed as dist
    import torch_models
    torch.set_default_dtype(torch.float64)
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks,
                            init_method=f"file://{folder}/rendezvous")
    mesh = dist.device_mesh.init_device_mesh("cpu", (ranks,), mesh_dim_names=("tp",))

    def tensor(name, values):
        """As torch's model has it."""
        shape = dict(step.model.parameters())[name]
        return torch_models.as_here(step.model, name, torch.tensor(values).reshape(shape))

    for row, step in steps:
        for plan in PLANS:
            made = torch_models.made(step.model)
            given = dict(made.named_parameters())
            with torch.no_grad():
                for name, _ in step.model.parameters():
                    given[name].copy_(tensor(name, step.values["parameter", name]))
            dtensor.parallelized(step.model, made, plan, mesh)
            *inputs, labels = (torch.tensor(values).reshape(step.model.sizes.batch, -1)
                               for (kind, _), values in step.values.items()
                               if kind == "user_input")
            with dtensor.loss_parallel():
                loss = dtensor.loss_of(made, inputs, labels, mesh)
                loss.backward()

            def whole(x):
                x = x.full_tensor() if isinstance(x, dtensor.DTensor) else x
                return x.flatten().tolist()

            queue.append((row, plan, "loss", differs(
                whole(loss.detach()), step.results["loss", "loss"])))
            for name, parameter in made.named_parameters():
                expected = tensor(name, step.gradient(name)).flatten().tolist()
                queue.append((row, plan, name, differs(whole(parameter.grad), expected)))
    dist.destroy_process_group()


def of_torch(steps, ranks):
    import torch.multiprocessing as processes
    with tempfile.TemporaryDirectory() as folder, processes.Manager() as manager:
        queue = manager.list()
        processes.spawn(of_rank, (list(steps), ranks, folder, queue), nprocs=ranks)
        yield from queue


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=["torch", "jax"])
    parser.add_argument("--build", default="build")
    parser.add_argument("--rows", default=",".join(ROWS))
    parser.add_argument("--ranks", type=int, default=4)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        steps = []
        for row in options.rows.split(","):
            steps.append((row, Step(row, options.build, folder)))
    found = {}
    for row, plan, what, difference in {"torch": of_torch, "jax": of_jax}[options.peer](
            steps, options.ranks):
        found.setdefault((row, plan), []).append((difference, what))
    for (row, plan), differences in found.items():
        difference, what = max(differences)
        print(f"{row}, {plan}: {len({what for _, what in differences})} tensors, at most "
              f"{difference:.1e} off ({what})")
    return int(any(max(differences)[0] > TOLERANCE for differences in found.values()))


if __name__ == "__main__":
    sys.exit(main())
