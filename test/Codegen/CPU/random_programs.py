"""Random tensor programs, compiled for one rank and compared, exactly, with an
evaluation in Python. Values are small integers, so that every order of summation
gives the same result.

    random_programs.py TP_OPT TP_RUN FOLDER --seed=0 --count=20 --ops=14
"""

import itertools
import math
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import contraction_dims
import npy
import seeds
from random_tensors import Tensor, indices


class Value(Tensor):
    """A tensor and its elements."""

    def __init__(self, name, shape, elements):
        super().__init__(name, shape)
        self.data = elements


class Program:
    def __init__(self, rng):
        self.rng = rng
        self.lines = []
        self.values = []
        self.count = 0
        for _ in range(rng.randint(2, 4)):
            self.constant(self.random_shape())

    def random_shape(self):
        sizes = [1, 2, 3, 4, 5, 6, 8, 17] + ([0] if self.rng.random() < 0.05 else [])
        return tuple(self.rng.choice(sizes) for _ in range(self.rng.randint(0, 4)))

    def emit(self, text, shape, element_of):
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"    {name} = {text}")
        value = Value(name, shape, {i: element_of(i) for i in indices(shape)})
        # Large numbers would not stay exact.
        if all(abs(x) < 2 ** 20 or math.isinf(x) for x in value.data.values()):
            self.values.append(value)
        return value

    def empty(self, shape):
        name = f"%v{self.count}"
        self.count += 1
        t = Value(name, shape, None)
        self.lines.append(f"    {name} = tensor.empty() : {t.type}")
        return t

    def constant(self, shape):
        data = {i: float(self.rng.randint(-3, 3)) for i in indices(shape)}

        def nested(prefix):
            if len(prefix) == len(shape):
                return f"{data[prefix]:.1f}"
            return "[" + ", ".join(nested(prefix + (k,))
                                   for k in range(shape[len(prefix)])) + "]"
        t = Value("", shape, None).type
        text = "" if 0 in shape else nested(())
        return self.emit(f"arith.constant dense<{text}> : {t}", shape, data.get)

    def pick(self, wanted=lambda v: True):
        found = [v for v in self.values if wanted(v)]
        return self.rng.choice(found) if found else None

    # Every op returns None if no value suits it.

    def elementwise(self):
        a = self.pick()
        rank = len(a.shape)
        # A second operand whose dims are a choice of a's, or of size one.
        b = self.pick(lambda v: len(v.shape) <= rank and self.dims_for(v, a))
        dims = self.rng.choice(self.dims_for(b, a))
        op, f = self.rng.choice([
            ("arith.addf", lambda x, y: x + y), ("arith.subf", lambda x, y: x - y),
            ("arith.mulf", lambda x, y: x * y),
            ("arith.maximumf", lambda x, y: max(x, y))])
        loops = [f"d{i}" for i in range(rank)]
        order = list(range(rank))
        if self.rng.random() < 0.3:
            self.rng.shuffle(order)
        out = self.empty([a.shape[i] for i in order])
        maps = [loops, ["0" if d is None else f"d{d}" for d in dims],
                [f"d{i}" for i in order]]
        text = ", ".join(f"affine_map<({', '.join(loops)}) -> ({', '.join(m)})>"
                         for m in maps)

        def element(i):
            loop = [0] * rank
            for position, d in enumerate(order):
                loop[d] = i[position]
            return f(a.data[tuple(loop)],
                     b.data[tuple(0 if d is None else loop[d] for d in dims)])
        kinds = ", ".join(['"parallel"'] * rank)
        return self.emit(
            f"linalg.generic {{indexing_maps = [{text}], iterator_types = [{kinds}]}} "
            f"ins({a.name}, {b.name} : {a.type}, {b.type}) outs({out.name} : {out.type}) "
            "{\n    ^bb0(%x: f32, %y: f32, %z: f32):\n"
            f"      %r = {op} %x, %y : f32\n      linalg.yield %r : f32\n"
            f"    }} -> {out.type}", out.shape, element)

    def dims_for(self, b, a):
        choices = []
        for dims in itertools.permutations(range(len(a.shape)), len(b.shape)):
            if all(b.shape[i] in (1, a.shape[d]) for i, d in enumerate(dims)):
                choices.append([None if b.shape[i] == 1 else d
                                for i, d in enumerate(dims)])
        return choices

    def reduce(self):
        a = self.pick(lambda v: len(v.shape) > 0)
        if not a:
            return None
        rank = len(a.shape)
        gone = set(self.rng.sample(range(rank), self.rng.randint(1, min(2, rank))))
        kept = [i for i in range(rank) if i not in gone]
        init = self.constant([a.shape[i] for i in kept])
        largest = self.rng.random() < 0.4
        op = "arith.maximumf" if largest else "arith.addf"
        loops = ", ".join(f"d{i}" for i in range(rank))
        kinds = ", ".join('"reduction"' if i in gone else '"parallel"'
                          for i in range(rank))

        def element(i):
            result = init.data[i]
            for r in indices([a.shape[d] for d in sorted(gone)]):
                loop = dict(zip(kept, i)) | dict(zip(sorted(gone), r))
                x = a.data[tuple(loop[d] for d in range(rank))]
                result = max(result, x) if largest else result + x
            return result
        return self.emit(
            f"linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({loops})>, "
            f"affine_map<({loops}) -> ({', '.join(f'd{i}' for i in kept)})>], "
            f"iterator_types = [{kinds}]}} ins({a.name} : {a.type}) "
            f"outs({init.name} : {init.type}) {{\n    ^bb0(%x: f32, %z: f32):\n"
            f"      %r = {op} %x, %z : f32\n      linalg.yield %r : f32\n"
            f"    }} -> {init.type}", init.shape, element)

    def contraction(self):
        a = self.pick(lambda v: len(v.shape) >= 1)
        b = self.pick(lambda v: len(v.shape) >= 1)
        if not a or not b or math.prod(a.shape) * math.prod(b.shape) > 6000:
            return None
        loops = contraction_dims.draw(self.rng, a.shape, b.shape, 0.7)
        if not loops:
            return None
        a_dims = list(range(len(a.shape)))
        extents, b_dims, contracted, out = loops
        if self.rng.random() < 0.5:
            init = self.constant([extents[d] for d in out])
        else:
            e = self.empty([extents[d] for d in out])
            init = self.emit(f"linalg.fill ins(%zero : f32) outs({e.name} : {e.type}) "
                             f"-> {e.type}", e.shape, lambda i: 0.0)
        loops = ", ".join(f"d{i}" for i in range(len(extents)))
        maps = ", ".join(
            f"affine_map<({loops}) -> ({', '.join(f'd{d}' for d in dims)})>"
            for dims in (a_dims, b_dims, out))
        kinds = ", ".join('"reduction"' if i in contracted else '"parallel"'
                          for i in range(len(extents)))
        inner = sorted(contracted)

        def element(i):
            result = init.data[i]
            for r in indices([extents[d] for d in inner]):
                loop = dict(zip(out, i)) | dict(zip(inner, r))
                result += (a.data[tuple(loop[d] for d in a_dims)] *
                           b.data[tuple(loop[d] for d in b_dims)])
            return result
        return self.emit(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"ins({a.name}, {b.name} : {a.type}, {b.type}) "
            f"outs({init.name} : {init.type}) {{\n"
            "    ^bb0(%x: f32, %y: f32, %z: f32):\n      %p = arith.mulf %x, %y : f32\n"
            "      %r = arith.addf %z, %p : f32\n      linalg.yield %r : f32\n"
            f"    }} -> {init.type}", init.shape, element)

    def transpose(self):
        a = self.pick(lambda v: len(v.shape) >= 2)
        if not a:
            return None
        p = list(range(len(a.shape)))
        self.rng.shuffle(p)
        out = self.empty([a.shape[i] for i in p])

        def element(i):
            source = [0] * len(p)
            for position, d in enumerate(p):
                source[d] = i[position]
            return a.data[tuple(source)]
        return self.emit(f"linalg.transpose ins({a.name} : {a.type}) "
                         f"outs({out.name} : {out.type}) permutation = {p}",
                         out.shape, element)

    def collapse(self):
        a = self.pick(lambda v: len(v.shape) >= 2)
        if not a:
            return None
        at = self.rng.randrange(len(a.shape) - 1)
        n = a.shape[at + 1]
        groups = [[i] for i in range(at)] + [[at, at + 1]] + \
                 [[i] for i in range(at + 2, len(a.shape))]
        shape = a.shape[:at] + (a.shape[at] * n,) + a.shape[at + 2:]
        t = Value("", shape, None).type
        return self.emit(
            f"tensor.collapse_shape {a.name} {groups} : {a.type} into {t}", shape,
            lambda i: a.data[i[:at] + (i[at] // n, i[at] % n) + i[at + 1:]])

    def expand(self):
        a = self.pick(lambda v: any(n > 3 for n in v.shape))
        if not a:
            return None
        at = self.rng.choice([i for i, n in enumerate(a.shape) if n > 3])
        n = self.rng.choice([d for d in range(1, a.shape[at] + 1)
                             if a.shape[at] % d == 0])
        groups = [[i] for i in range(at)] + [[at, at + 1]] + \
                 [[i + 1] for i in range(at + 1, len(a.shape))]
        shape = a.shape[:at] + (a.shape[at] // n, n) + a.shape[at + 1:]
        t = Value("", shape, None).type
        return self.emit(
            f"tensor.expand_shape {a.name} {groups} output_shape {list(shape)} : "
            f"{a.type} into {t}", shape,
            lambda i: a.data[i[:at] + (i[at] * n + i[at + 1],) + i[at + 2:]])

    def slice(self):
        a = self.pick(lambda v: v.shape and min(v.shape) > 0)
        if not a:
            return None
        strides = [self.rng.choice([1, 1, 2]) for _ in a.shape]
        offsets = [self.rng.randrange(n) for n in a.shape]
        sizes = [self.rng.randint(1, -(-(n - o) // s))
                 for n, o, s in zip(a.shape, offsets, strides)]
        t = Value("", sizes, None).type
        return self.emit(
            f"tensor.extract_slice {a.name}{offsets} {sizes} {strides} : "
            f"{a.type} to {t}", sizes,
            lambda i: a.data[tuple(o + k * s
                                   for k, o, s in zip(i, offsets, strides))])

    def insert(self):
        a = self.pick(lambda v: v.shape and min(v.shape) > 0)
        b = a and self.pick(lambda v: len(v.shape) == len(a.shape) and
                            all(m <= n for m, n in zip(v.shape, a.shape)))
        if not b:
            return None
        at = [self.rng.randint(0, n - m) for m, n in zip(b.shape, a.shape)]

        def element(i):
            local = tuple(k - o for k, o in zip(i, at))
            return b.data.get(local, a.data[i]) if min(local) >= 0 else a.data[i]
        return self.emit(
            f"tensor.insert_slice {b.name} into {a.name}{at} {list(b.shape)} "
            f"{[1] * len(at)} : {b.type} into {a.type}", a.shape, element)

    def pad(self):
        a = self.pick(lambda v: v.shape and math.prod(v.shape) < 300)
        if not a:
            return None
        low = [self.rng.randint(0, 2) for _ in a.shape]
        high = [self.rng.randint(0, 2) for _ in a.shape]
        shape = [l + n + h for l, n, h in zip(low, a.shape, high)]
        arguments = ", ".join(f"%p{i}: index" for i in range(len(shape)))
        return self.emit(
            f"tensor.pad {a.name} low{low} high{high} {{\n    ^bb0({arguments}):\n"
            f"      tensor.yield %one : f32\n    }} : {a.type} to "
            f"{Value('', shape, None).type}", shape,
            lambda i: a.data.get(tuple(k - l for k, l in zip(i, low)), 1.0))

    def concat(self):
        a = self.pick(lambda v: v.shape)
        if not a:
            return None
        d = self.rng.randrange(len(a.shape))
        b = self.pick(lambda v: len(v.shape) == len(a.shape) and all(
            i == d or m == n for i, (m, n) in enumerate(zip(v.shape, a.shape))))
        n = a.shape[d]
        shape = a.shape[:d] + (n + b.shape[d],) + a.shape[d + 1:]
        return self.emit(
            f"tensor.concat dim({d}) {a.name}, {b.name} : ({a.type}, {b.type}) -> "
            f"{Value('', shape, None).type}", shape,
            lambda i: a.data[i] if i[d] < n
            else b.data[i[:d] + (i[d] - n,) + i[d + 1:]])

    def gather(self):
        table = self.pick(lambda v: v.shape and min(v.shape) > 0)
        rows = self.pick(lambda v: len(v.shape) <= 2)
        if not table or not rows:
            return None
        rank, n = len(rows.shape), table.shape[0]
        shape = rows.shape + table.shape[1:]
        out = self.empty(shape)
        loops = ", ".join(f"d{i}" for i in range(len(shape)))
        row_map = ", ".join(f"d{i}" for i in range(rank))
        kinds = ", ".join(['"parallel"'] * len(shape))
        rest = "".join(f"      %k{i} = linalg.index {rank + i - 1} : index\n"
                       for i in range(1, len(table.shape)))
        at = "".join(f", %k{i}" for i in range(1, len(table.shape)))

        def element(i):
            row = abs(rows.data[i[:rank]])
            return table.data[(min(int(row), n - 1),) + i[rank:]]
        return self.emit(
            f"linalg.generic {{indexing_maps = [affine_map<({loops}) -> ({row_map})>, "
            f"affine_map<({loops}) -> ({loops})>], iterator_types = [{kinds}]}} "
            f"ins({rows.name} : {rows.type}) outs({out.name} : {out.type}) {{\n"
            "    ^bb0(%x: f32, %z: f32):\n      %m = math.absf %x : f32\n"
            "      %j = arith.fptosi %m : f32 to i64\n"
            f"      %l = arith.minsi %j, %last{n} : i64\n"
            "      %t = arith.index_cast %l : i64 to index\n" + rest +
            f"      %r = tensor.extract {table.name}[%t{at}] : {table.type}\n"
            f"      linalg.yield %r : f32\n    }} -> {out.type}", shape, element)

    def step(self):
        kinds = [self.elementwise] * 4 + [self.reduce] * 2 + [self.contraction] * 3 + [
            self.transpose, self.transpose, self.collapse, self.expand, self.slice,
            self.insert, self.pad, self.concat, self.gather]
        self.rng.choice(kinds)()

    def text(self, results):
        lasts = "".join(f"    %last{n} = arith.constant {n - 1} : i64\n"
                        for n in range(1, 400))
        ports = ", ".join(f'{v.type} {{tp.name = "r{i}"}}'
                          for i, v in enumerate(results))
        used = {f"%last{n}" for n in range(1, 400)
                if any(f"%last{n} " in line for line in self.lines)}
        lasts = "".join(line + "\n" for line in lasts.splitlines()
                        if line.split()[0] in used)
        return ("func.func @main() -> (" + ports + ") {\n"
                "    %zero = arith.constant 0.0 : f32\n"
                "    %one = arith.constant 1.0 : f32\n" + lasts +
                "\n".join(self.lines) + "\n    return " +
                ", ".join(v.name for v in results) + " : " +
                ", ".join(v.type for v in results) + "\n}\n")


def compile_program(tp_opt, source, artifact):
    """Nothing, or what is wrong."""
    done = subprocess.run([tp_opt, source, f"--tp-cpu-compile=output={artifact}", "-o", os.devnull],
                          capture_output=True, text=True)
    return f"does not compile: {done.stderr[:600]}" if done.returncode else None


def compare(tp_run, artifact, results, prefix):
    """Runs with poisoned memory. Nothing, or which result is wrong; files begin with `prefix`."""
    outputs = [f"{prefix}-{i}.npy" for i in range(len(results))]
    done = subprocess.run(
        [tp_run, artifact, "--ranks=1", "--poison"] +
        [f"--output=r{i}=@{path}" for i, path in enumerate(outputs)],
        capture_output=True, text=True)
    if done.returncode:
        return f"does not run: {done.stderr[:600]}"
    for i, (value, path) in enumerate(zip(results, outputs)):
        body = npy.read(path)
        got = struct.unpack(f"<{len(body) // 4}f", body)
        for index, x, y in zip(indices(value.shape), got, value.data.values()):
            if x != y:
                return f"r{i} = {value.name}{list(index)}: expected {y}, got {x}"
    for path in outputs:
        os.remove(path)
    return None


def run(tp_opt, tp_run, folder, seed, ops):
    rng = random.Random(seed)
    program = Program(rng)
    for _ in range(ops):
        program.step()
    candidates = program.values[-6:] if rng.random() < 0.7 else program.values
    results = rng.sample(candidates, min(3, len(candidates)))
    prefix = os.path.join(folder, f"random-{seed}")
    source, artifact = prefix + ".mlir", prefix + ".tp"
    with open(source, "w") as file:
        file.write(program.text(results))
    error = (compile_program(tp_opt, source, artifact) or
             compare(tp_run, artifact, results, prefix))
    if not error:
        os.remove(source)
        os.remove(artifact)
    return error


def main():
    parser = seeds.parser_of("tp_opt", "tp_run", "folder", count=20)
    parser.add_argument("--ops", type=int, default=14)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    failed = 0
    for seed in range(options.seed, options.seed + options.count):
        error = run(options.tp_opt, options.tp_run, options.folder, seed,
                    options.ops)
        if error:
            failed += 1
            print(f"seed {seed}: {error}")
    print(f"{options.count - failed} programs equal, {failed} not")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
