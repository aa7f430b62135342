"""A generated training step against its model's loss, on one rank, in f64:

    gradients.py FOLDER MODEL [--packed] [--element=bf16]

The gradient of every parameter, which the first moments tell, against differences of
the loss along a random direction; the second moments, the parameters and the step
against AdamW's formula. With --element instead: the
gradients of the narrower program against those of the f64 one on the same weights.
"""

import argparse
import math
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                "..", "..", "bench"))
import arrays  # noqa: E402
import training_step  # noqa: E402
from adamw import AdamW  # noqa: E402
from models import MODELS  # noqa: E402
from models.sizes import Sizes  # noqa: E402

SIZES = Sizes(dim=16, layers=1, heads=4, kv_heads=2, ff=24, vocab=40, batch=2, seq=6,
              positions=8, experts=3)


# Gradients below are rounding: that of a bias of keys, which softmax cancels, is 0.
LEAST = 1e-3


def norm_of(values):
    return math.sqrt(sum(value * value for value in values))


def execute(command):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode:
        sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


class Program:
    def __init__(self, folder, name, graph):
        self.stem, self.graph = os.path.join(folder, name), graph
        with open(self.stem + ".mlir", "w") as file:
            graph.write(file)
        execute(["tp-compile", self.stem + ".mlir", "-o", self.stem + ".tp"])

    def run(self, values, kinds=None):
        """values: (kind, name) to numbers. Results, by (kind, name) too."""
        command = ["tp-run", self.stem + ".tp", "--ranks=1",
                   f"--weights={self.stem}.safetensors"]
        weights = []
        for value, kind, name in self.graph.arguments:
            data = arrays.encoded(values[kind, name], value.element)
            if kind == "user_input":
                path = f"{self.stem}.{name}.npy"
                arrays.write_npy(path, value.shape, value.element, data)
                command.append(f"--input={name}=@{path}")
            else:
                weights.append((arrays.source_key(kind, name), value.shape,
                                value.element, data))
        arrays.write_safetensors(self.stem + ".safetensors", weights)
        paths = {}
        for number, (_, kind, name) in enumerate(self.graph.results):
            if kinds is None or kind in kinds:
                full = name if kind in ("loss", "new_step") else f"{kind}:{name}"
                paths[kind, name] = f"{self.stem}.{number}.npy"
                command.append(f"--output={full}=@{paths[kind, name]}")
        execute(command)
        return {key: arrays.read_npy(path) for key, path in paths.items()}


def random_values(model, graph):
    numbers = arrays.Numbers(model, seed=1)
    values = {(kind, name): numbers.of(kind, name, value.shape)
              for value, kind, name in graph.arguments}
    # A row that is left out of the loss.
    values["user_input", "labels"][1] = -100
    return values


def gradients(results, values, optimizer):
    return {name: [(after - optimizer.beta1 * before) / (1 - optimizer.beta1)
                   for after, before in zip(moment, values["opt_exp_avg", name])]
            for (kind, name), moment in results.items() if kind == "new_exp_avg"}


def close(what, found, expected, tolerance):
    if not abs(found - expected) <= tolerance * max(1.0, abs(expected)):
        sys.exit(f"{what}: expected {expected}, got {found}")


def check_gradients(program, values, found):
    def loss(name, changes):
        moved = list(values["parameter", name])
        for i, change in changes:
            moved[i] += change
        return program.run(values | {("parameter", name): moved})["loss", "loss"][0]

    rng, h = random.Random(2), 1e-4
    for name, gradient in found.items():
        # Every entry has a part in a direction; it is one of the gradient's size.
        direction = [rng.gauss(0.0, 1.0) for _ in gradient]
        step = h / norm_of(direction)
        ahead, behind = (loss(name, [(i, sign * step * d) for i, d in enumerate(direction)])
                         for sign in (1, -1))
        size = norm_of(gradient) / math.sqrt(len(gradient))
        expected = sum(g * d for g, d in zip(gradient, direction)) * step / h
        difference = (ahead - behind) / (2 * h)
        if not abs(difference - expected) <= 1e-7 * max(size, LEAST):
            sys.exit(f"the gradient of {name}: expected a derivative of {difference}, "
                     f"got {expected}")
    print(f"{len(found)} derivatives equal differences of the loss")


def check_optimizer(values, results, found, optimizer):
    step = values["opt_step", "step"][0] + 1
    close("step", results["new_step", "step"][0], step, 0.0)
    for name, gradient in found.items():
        columns = zip(gradient, values["parameter", name],
                      values["opt_exp_avg_sq", name], results["new_exp_avg", name],
                      results["new_exp_avg_sq", name], results["new_parameter", name])
        for g, p, before, first, second, updated in columns:
            variance = optimizer.beta2 * before + (1 - optimizer.beta2) * g * g
            close(f"the second moment of {name}", second, variance, 1e-12)
            change = optimizer.rate * (first / (1 - optimizer.beta1 ** step)) / (
                math.sqrt(second / (1 - optimizer.beta2 ** step)) + optimizer.epsilon)
            close(name, updated, p * (1 - optimizer.rate * optimizer.decay) - change,
                  1e-12)
    print(f"{len(found)} parameters updated by AdamW's formula")


def check_narrow(folder, make, element, values, optimizer):
    """Weights that the narrow type holds exactly."""
    rounded = dict(values)
    for (kind, name), numbers in values.items():
        if kind in ("parameter", "buffer"):
            data = arrays.encoded(numbers, element)
            rounded[kind, name] = arrays.decoded(data, element)
    found = []
    for kind in ("f64", element):
        program = Program(folder, "training-" + kind, training_step.training(make(kind)))
        results = program.run(rounded, ["loss", "new_exp_avg"])
        found.append((results["loss", "loss"][0], gradients(results, rounded, optimizer)))
    (loss, wide), (narrow_loss, narrow) = found
    tolerance = {"bf16": 0.05, "f32": 1e-4}[element]
    close("the loss", narrow_loss, loss, tolerance)
    for name, gradient in wide.items():
        norm = max(norm_of(gradient), 50 * LEAST)
        error = norm_of(a - b for a, b in zip(gradient, narrow[name]))
        if error > tolerance * norm:
            sys.exit(f"the gradient of {name}: expected one at most {tolerance} of "
                     f"{norm} off, got {error}")
    print(f"{len(wide)} gradients in {element} are near those in f64")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("model", choices=MODELS)
    parser.add_argument("--packed", action="store_true")
    parser.add_argument("--fused-attention", action="store_true")
    parser.add_argument("--element", choices=["f32", "bf16"])
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)

    def make(element):
        return MODELS[options.model](SIZES, element, options.packed,
                                     options.fused_attention)

    optimizer, model = AdamW(), make("f64")
    graph = training_step.training(model)
    values = random_values(model, graph)
    if options.element:
        check_narrow(options.folder, make, options.element, values, optimizer)
        return
    training = Program(options.folder, "training", graph)
    loss = Program(options.folder, "loss", training_step.loss(model))
    results = training.run(values)
    found = gradients(results, values, optimizer)
    close("the loss", results["loss", "loss"][0], loss.run(values)["loss", "loss"][0],
          1e-12)
    check_gradients(loss, values, found)
    check_optimizer(values, results, found, optimizer)


main()
