"""Chains of layout changes on ranks: every argument goes through random layouts
and must come out as it was. The collectives of every chain are simulated before
and after tp-partition, and once more with those of several chains in one bucket;
then the program is compiled, without buckets and with them, and run with poison
in all padding.

    redistributions.py FOLDER --seed=0 --count=20 --chains=8
"""

import itertools
import math
import os
import random
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import npy
import seeds

MESHES = [{"a": 2}, {"a": 3}, {"a": 4}, {"a": 5}, {"a": 6}, {"a": 8}, {"a": 2, "b": 2},
          {"a": 2, "b": 3}, {"a": 3, "b": 2}, {"a": 1, "b": 3}, {"a": 2, "b": 2, "c": 2},
          {"a": 2, "b": 4}, {"a": 2, "b": 1, "c": 2, "d": 2}]
NPY = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "i32": ("<i4", "i"), "i64": ("<i8", "q")}


def parts_of(rng, name, size):
    """The axis whole or in two or three parts, major first."""
    cuts = [d for d in range(2, size) if size % d == 0]
    if not cuts or rng.random() < 0.6:
        return [(name, 1, size)]
    cut = rng.choice(cuts)
    more = [d for d in cuts if d > cut and d % cut == 0]
    places = [1, cut] + ([rng.choice(more)] if more and rng.random() < 0.5 else []) + [size]
    return [(name, a, b // a) for a, b in zip(places, places[1:])]


class Layouts:
    """Random layouts of one tensor."""

    def __init__(self, rng, mesh, shape):
        self.rng, self.mesh, self.shape = rng, mesh, shape

    def shard(self, dim):
        """Unit and segments of a sharded dimension."""
        size, options = self.shape[dim], ""
        if self.rng.random() < 0.3:
            options += f", unit = {self.rng.randint(2, 4)}"
        if size > 1 and self.rng.random() < 0.25:
            ends = sorted(self.rng.sample(range(1, size), self.rng.randint(1, min(3, size - 1))))
            segments = [b - a for a, b in zip([0] + ends, ends + [size])]
            if self.rng.random() < 0.4 and size % 3 == 0:
                segments = [size // 3] * 3
            options += f", segments = {segments}"
        return f"shard<{dim}{options}>"

    def draw(self, partial=True):
        shards = {d: self.shard(d) for d in range(len(self.shape))}
        entries = []
        for name, size in self.mesh.items():
            for part in parts_of(self.rng, name, size):
                kinds = ["replicate"] + [shards[d] for d in shards] * 2
                if partial:
                    kinds += [f"partial<{k}>" for k in
                              self.rng.choice([["sum"], ["max"], ["sum", "max", "min"]])]
                entries.append((part, self.rng.choice(kinds)))
        if self.rng.random() < 0.4:
            self.rng.shuffle(entries)
        return "[" + ", ".join(f'"{n}"' + (f":{m}:{s}" if (m, s) != (1, self.mesh[n]) else "") +
                               f" = {p}" for (n, m, s), p in entries) + "]"


def program(rng, chains):
    mesh = rng.choice(MESHES)
    ranks = math.prod(mesh.values())
    devices = ""
    if rng.random() < 0.25:
        order = list(range(ranks))
        rng.shuffle(order)
        devices = f", devices = {order}"
    axes = ", ".join(f'"{n}" = {s}' for n, s in mesh.items())
    lines, arguments, results, types = [], [], [], []
    tensors = []
    for i in range(chains):
        shape = [rng.choice([0, 1, 2, 3, 4, 5, 6, 7, 8, 12, 13]) for _ in range(rng.randint(0, 3))]
        if 0 in shape and rng.random() < 0.7:
            shape = [n or 3 for n in shape]
        # Of small tensors the number of collectives decides the way, of large
        # ones the bytes do.
        if shape and rng.random() < 0.4:
            shape[rng.randrange(len(shape))] *= 40
        element = rng.choice(["f32"] * 3 + ["f64", "i32", "i64"])
        plain = "x".join([str(n) for n in shape] + [element])
        layouts = Layouts(rng, mesh, shape)

        def typed(layout):
            return f"tensor<{plain}, #tp.layout<#mesh, {layout}>>"
        length = rng.randint(1, 4)
        way = [layouts.draw(partial=False)] + [layouts.draw() for _ in range(length - 1)] + \
            [layouts.draw(partial=False)]
        arguments.append(f'%x{i}: {typed(way[0])} {{tp.name = "x{i}"}}')
        value = f"%x{i}"
        for k, (a, b) in enumerate(itertools.pairwise(way)):
            lines.append(f"    %v{i}_{k} = tp.redistribute {value} "
                         f"{{tp.values = [{{id = {100 * i + k} : i64}}]}} : {typed(a)} to {typed(b)}")
            value = f"%v{i}_{k}"
        results.append(value)
        types.append(typed(way[-1]))
        tensors.append((shape, element))
    named = ", ".join(f'{t} {{tp.name = "y{i}"}}' for i, t in enumerate(types))
    text = (f"#mesh = #tp.mesh<{axes}{devices}>\n"
            "module attributes {tp.mesh = #mesh} {\n"
            f"  func.func @main({', '.join(arguments)}) -> ({named}) {{\n" +
            "\n".join(lines) +
            f"\n    return {', '.join(results)} : {', '.join(types)}\n  }}\n}}\n")
    return text, ranks, tensors


def write_npy(path, shape, element):
    descr, code = NPY[element]
    count = math.prod(shape)
    npy.write(path, descr, shape,
              struct.pack(f"<{count}{code}", *[3 * i + 1 for i in range(count)]))


class Failure(Exception):
    pass


def execute(command, what):
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise Failure(f"{what} ends with {done.returncode}: {(done.stderr + done.stdout)[:2000]}")


def check(folder, seed, chains):
    rng = random.Random(seed)
    text, ranks, tensors = program(rng, chains)
    os.makedirs(folder, exist_ok=True)

    def path(name):
        return os.path.join(folder, name)
    with open(path("layouts.mlir"), "w") as file:
        file.write(text)
    execute(["tp-opt", path("layouts.mlir"), "--tp-insert-collectives", "--tp-verify-collectives",
             f"--tp-simulate=seed={seed}", "-o", path("collectives.mlir")], "tp-insert-collectives")
    execute(["tp-opt", path("collectives.mlir"), "--tp-partition", "--tp-verify-partitioned",
             "-o", path("local.mlir")], "tp-partition")
    execute(["tp-opt", path("local.mlir"), "--tp-bucket-collectives",
             "--tp-verify-partitioned", "-o", path("buckets.mlir")], "tp-bucket-collectives")
    names = []
    for i, (shape, element) in enumerate(tensors):
        write_npy(path(f"x{i}.npy"), shape, element)
        names += [f"--input=x{i}=@{path(f'x{i}.npy')}", f"--expected-output=y{i}=@{path(f'x{i}.npy')}"]
    for form in ("local", "buckets"):
        execute(["tp-opt", path(form + ".mlir"),
                 f"--tp-simulate=seed={seed} reference={path('layouts.mlir')}", "-o", os.devnull],
                f"the partitioned program, {form}")
        execute(["tp-opt", path(form + ".mlir"), f"--tp-cpu-compile=output={path(form + '.tp')}",
                 "-o", os.devnull], f"the CPU back end, {form}")
        execute(["tp-run", path(form + ".tp"), f"--ranks={ranks}", "--poison",
                 "--atol=0", "--rtol=0"] + names, f"tp-run on {ranks} ranks, {form}")
    return collectives_of(path("local.mlir")), collectives_of(path("buckets.mlir"))


def collectives_of(path):
    with open(path) as file:
        return len(re.findall(r" = tp\.(?!axis_index)", file.read()))


def main():
    parser = seeds.parser_of("folder", count=20)
    parser.add_argument("--chains", type=int, default=8)
    options = parser.parse_args()
    wrong = 0
    total = [0, 0]
    for seed in range(options.seed, options.seed + options.count):
        folder = os.path.join(options.folder, f"seed-{seed}")
        try:
            total = [a + b for a, b in zip(total, check(folder, seed, options.chains))]
        except Failure as failure:
            wrong += 1
            print(f"seed {seed} ({folder}): {failure}", flush=True)
    print(f"seeds {options.seed} to {options.seed + options.count - 1}, {options.chains} chains each: "
          f"{options.count - wrong} equal, {wrong} wrong; {total[0]} collectives, "
          f"{total[1]} with buckets")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
