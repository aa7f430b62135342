"""Random programs with states, run for several steps on one rank and on several, and
compared, exactly, with an evaluation in Python. With the libraries of test/Fakes also on devices
that are the host.

    random_states.py FOLDER --seed=0 --count=20 --ops=8 --fakes=LIBRARIES

Elements are small integers, so that every order of summation gives the same result.
A state is updated by any value of its shape: its own next one, another state's old
or new one, or itself. Each step reads states in other places than it writes them:
rolled, transposed, multiplied, at a position that a state holds.
"""

import os
import random
import re
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import fake_devices
import npy
import seeds
from random_tensors import Tensor, indices

STEPS = 4
LARGEST = 9
# Beyond this, sums of f32 are not exact: no step is run that has such numbers.
LARGEST_EXACT = float(1 << 20)


def clamped(x):
    return float(max(-LARGEST, min(LARGEST, x)))


class Value(Tensor):
    """A tensor, and a function from what came before to its elements."""

    def __init__(self, name, shape, element_of):
        super().__init__(name, shape)
        self.element_of = element_of


class Program:
    def __init__(self, rng):
        self.rng = rng
        self.lines, self.count = [], 0
        sizes = [rng.choice([1, 2, 3, 4, 5, 7]) for _ in range(2)]
        shapes = [tuple(rng.choice(sizes) for _ in range(rng.choice([0, 1, 2, 2, 2])))
                  for _ in range(2)]
        self.states = [Value(f"%s{i}", rng.choice(shapes), None)
                       for i in range(rng.randint(1, 4))]
        self.inputs = [Value("%x", shapes[0], None)]
        self.given = {v.name: {i: float(rng.randint(-4, 4)) for i in indices(v.shape)}
                      for v in self.states + self.inputs}
        # The position counts around: a state that is read as an index.
        self.positions = rng.choice(sizes)
        self.values = self.states + self.inputs
        self.computed = []

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def emit(self, text, shape, element_of):
        value = Value(self.name(), shape, element_of)
        self.lines.append(f"{value.name} = {text}")
        self.values.append(value)
        self.computed.append(value)
        return value

    def emit_large(self, text, shape, element_of):
        """The same with elements that may be large: only its clamped form is used."""
        value = self.emit(text, shape, element_of)
        self.values.remove(value)
        return self.clamp(value)

    def empty(self, shape):
        value = Value(self.name(), shape, None)
        self.lines.append(f"{value.name} = tensor.empty() : {value.type}")
        return value

    def pick(self, wanted=lambda v: True):
        found = [v for v in self.values if wanted(v)]
        return self.rng.choice(found) if found else None

    def generic(self, maps, ins, out, body, element_of, reductions=0):
        """A linalg.generic over the loops of `maps`, of which the last reduce."""
        loops = 1 + max((int(d) for d in re.findall(r"d(\d)", " ".join(maps))), default=-1)
        dims = ", ".join(f"d{i}" for i in range(loops))
        text = ", ".join(f"affine_map<({dims}) -> ({m})>" for m in maps)
        kinds = ", ".join('"parallel"' if i < loops - reductions else '"reduction"'
                          for i in range(loops))
        arguments = ", ".join(f"%a{i}: f32" for i in range(len(ins) + 1))
        given = ""
        if ins:
            given = "ins({} : {}) ".format(", ".join(v.name for v in ins),
                                           ", ".join(v.type for v in ins))
        return self.emit(
            f"linalg.generic {{indexing_maps = [{text}], iterator_types = [{kinds}]}} "
            f"{given}outs({out.name} : {out.type}) {{\n^bb0({arguments}):\n{body}\n}} "
            f"-> {out.type}", out.shape, element_of)

    @staticmethod
    def loops(shape):
        return ", ".join(f"d{i}" for i in range(len(shape)))

    def clamp(self, value):
        """Keeps numbers small, so that they stay exact."""
        raw = value.element_of
        out = self.empty(value.shape)
        maps = [self.loops(value.shape)] * 2
        return self.generic(
            maps, [value], out, "%l = arith.maximumf %a0, %least : f32\n"
            "%m = arith.minimumf %l, %most : f32\nlinalg.yield %m : f32",
            lambda env, i: clamped(raw(env, i)))

    # Every op returns None if no value suits it.

    def elementwise(self):
        a = self.pick()
        b = self.pick(lambda v: v.shape == a.shape)
        op, f = self.rng.choice([
            ("addf", lambda x, y: x + y), ("subf", lambda x, y: x - y),
            ("maximumf", max), ("addf", lambda x, y: x + y)])
        return self.emit_large(f"arith.{op} {a.name}, {b.name} : {a.type}", a.shape,
                               lambda env, i: f(env[a.name][i], env[b.name][i]))

    def roll(self):
        a = self.pick(lambda v: max(v.shape, default=1) > 1)
        if not a:
            return None
        d = self.rng.choice([d for d, n in enumerate(a.shape) if n > 1])
        n = a.shape[d]
        by = self.rng.randint(1, n - 1)

        def part(first, size):
            shape = [size if k == d else m for k, m in enumerate(a.shape)]
            offsets = ", ".join(str(first if k == d else 0) for k in range(len(shape)))
            value = Value(self.name(), shape, None)
            self.lines.append(
                f"{value.name} = tensor.extract_slice {a.name}[{offsets}] "
                f"[{', '.join(map(str, shape))}] [{', '.join('1' for _ in shape)}] : "
                f"{a.type} to {value.type}")
            return value
        front, back = part(by, n - by), part(0, by)
        return self.emit(
            f"tensor.concat dim({d}) {front.name}, {back.name} : ({front.type}, "
            f"{back.type}) -> {a.type}", a.shape,
            lambda env, i: env[a.name][tuple((x + by) % n if k == d else x
                                             for k, x in enumerate(i))])

    def transpose(self):
        a = self.pick(lambda v: len(v.shape) == 2)
        if not a:
            return None
        out = self.empty(a.shape[::-1])
        return self.generic(["d1, d0", "d0, d1"], [a], out, "linalg.yield %a0 : f32",
                            lambda env, i: env[a.name][i[::-1]])

    def product(self):
        a = self.pick(lambda v: len(v.shape) == 2)
        b = a and self.pick(lambda v: len(v.shape) == 2 and v.shape[0] == a.shape[1])
        if not b:
            return None
        out, init = self.empty((a.shape[0], b.shape[1])), self.name()
        self.lines.append(f"{init} = linalg.fill ins(%zero : f32) outs({out.name} : "
                          f"{out.type}) -> {out.type}")
        return self.emit_large(
            f"linalg.matmul ins({a.name}, {b.name} : {a.type}, {b.type}) "
            f"outs({init} : {out.type}) -> {out.type}", out.shape,
            lambda env, i: sum(env[a.name][i[0], k] * env[b.name][k, i[1]]
                               for k in range(a.shape[1])))

    def total(self):
        """The sum of a row, added to each of its elements."""
        a = self.pick(lambda v: len(v.shape) == 2)
        if not a:
            return None
        sums, init = self.empty(a.shape[:1]), self.name()
        self.lines.append(f"{init} = linalg.fill ins(%zero : f32) outs({sums.name} : "
                          f"{sums.type}) -> {sums.type}")
        row = self.generic(["d0, d1", "d0"], [a], Value(init, sums.shape, None),
                           "%s = arith.addf %a0, %a1 : f32\nlinalg.yield %s : f32",
                           lambda env, i: sum(env[a.name][i[0], k]
                                              for k in range(a.shape[1])), reductions=1)
        self.values.remove(row)
        out = self.empty(a.shape)
        value = self.generic(["d0", "d0, d1", "d0, d1"], [row, a], out,
                             "%s = arith.addf %a0, %a1 : f32\nlinalg.yield %s : f32",
                             lambda env, i: env[row.name][i[:1]] + env[a.name][i])
        self.values.remove(value)
        return self.clamp(value)

    def broadcast(self):
        """A scalar, or a number for each row, added to each element."""
        a = self.pick(lambda v: v.shape)
        b = a and self.pick(lambda v: len(v.shape) < len(a.shape) and
                            v.shape == a.shape[:len(v.shape)])
        if not b:
            return None
        out = self.empty(a.shape)
        value = self.generic([self.loops(b.shape)] + [self.loops(a.shape)] * 2, [b, a], out,
                             "%s = arith.addf %a0, %a1 : f32\nlinalg.yield %s : f32",
                             lambda env, i: env[b.name][i[:len(b.shape)]] + env[a.name][i])
        self.values.remove(value)
        return self.clamp(value)

    def write_at_position(self, a=None):
        """One slice of a value at the position that the program's counter holds."""
        a = a or self.pick(lambda v: v.shape)
        if not a:
            return None
        d = self.rng.randrange(len(a.shape))
        rest = tuple(n for k, n in enumerate(a.shape) if k != d)
        b = self.pick(lambda v: v.shape == a.shape)
        out = self.empty(a.shape)
        maps = [self.loops(a.shape)] * 3
        # Positions beyond the dimension write nothing.
        return self.generic(
            maps, [b, a], out,
            f"%i = linalg.index {d} : index\n%p = arith.index_cast %i : index to i64\n"
            "%q = arith.cmpi eq, %p, %position : i64\n"
            "%s = arith.select %q, %a0, %a1 : f32\nlinalg.yield %s : f32",
            lambda env, i: env[b.name if i[d] == env["position"] else a.name][i])

    def write_slice(self):
        a = self.pick(lambda v: v.shape)
        if not a:
            return None
        sizes = [self.rng.randint(1, n) for n in a.shape]
        offsets = [self.rng.randint(0, n - m) for n, m in zip(a.shape, sizes)]
        b = self.pick(lambda v: len(v.shape) == len(a.shape) and all(
            m <= n for m, n in zip(sizes, v.shape)))
        if not b:
            return None
        ones = ", ".join("1" for _ in sizes)
        size = ", ".join(map(str, sizes))
        part = Value(self.name(), sizes, None)
        self.lines.append(f"{part.name} = tensor.extract_slice {b.name}"
                          f"[{', '.join('0' for _ in sizes)}] [{size}] [{ones}] : "
                          f"{b.type} to {part.type}")

        def element(env, i):
            at = tuple(x - o for x, o in zip(i, offsets))
            inside = all(0 <= x < m for x, m in zip(at, sizes))
            return env[b.name][at] if inside else env[a.name][i]
        return self.emit(
            f"tensor.insert_slice {part.name} into {a.name}"
            f"[{', '.join(map(str, offsets))}] [{size}] [{ones}] : {part.type} into "
            f"{a.type}", a.shape, element)

    def step(self):
        self.rng.choice([self.elementwise] * 3 + [
            self.broadcast, self.broadcast, self.roll, self.transpose, self.product, self.product, self.total,
            self.write_at_position, self.write_at_position, self.write_slice])()

    def finish(self):
        """What every state becomes, and what is returned beside."""
        self.next = []
        for state in self.states:
            if state.shape and self.rng.random() < 0.25:
                self.next.append(self.write_at_position(state))
                continue
            last = [v for v in self.computed if v.shape == state.shape]
            any_ = [v for v in self.values if v.shape == state.shape]
            chosen = self.rng.choice(last[-3:] if last and self.rng.random() < 0.8
                                     else any_)
            self.next.append(chosen)
        self.returned = self.rng.sample(self.values, min(2, len(self.values)))

    def text(self):
        ports = ", ".join(
            [f'{v.name}: {v.type} {{tp.name = "{v.name[1:]}", tp.kind = "buffer"}}'
             for v in self.states] +
            [f'{v.name}: {v.type} {{tp.name = "{v.name[1:]}", tp.kind = "user_input"}}'
             for v in self.inputs] +
            ['%place: tensor<i64> {tp.name = "place", tp.kind = "buffer"}'])
        results = ", ".join(
            [f'{v.type} {{tp.name = "r{i}"}}' for i, v in enumerate(self.returned)] +
            [f'{s.type} {{tp.name = "n{i}", tp.updates = "{s.name[1:]}"}}'
             for i, s in enumerate(self.states)] +
            ['tensor<i64> {tp.name = "next_place", tp.updates = "place"}'])
        values = self.returned + self.next
        return "\n".join([
            f"func.func @main({ports}) -> ({results}) {{",
            "%zero = arith.constant 0.0 : f32",
            f"%least = arith.constant {-LARGEST}.0 : f32",
            f"%most = arith.constant {LARGEST}.0 : f32",
            "%one = arith.constant dense<1> : tensor<i64>",
            f"%around = arith.constant dense<{self.positions}> : tensor<i64>",
            "%position = tensor.extract %place[] : tensor<i64>"] + self.lines + [
            "%moved = arith.addi %place, %one : tensor<i64>",
            "%next_place = arith.remsi %moved, %around : tensor<i64>",
            "return " + ", ".join([v.name for v in values] + ["%next_place"]) + " : " +
            ", ".join([v.type for v in values] + ["tensor<i64>"]), "}", ""])

    def run(self):
        """The number of steps, and the results of the last one: lists of elements."""
        given, position, steps, results = dict(self.given), 0, 0, []
        while steps < STEPS:
            env = dict(given, position=position)
            for value in self.computed:
                env[value.name] = {i: value.element_of(env, i)
                                   for i in indices(value.shape)}
            if steps and any(abs(x) > LARGEST_EXACT for value in self.computed
                             for x in env[value.name].values()):
                break
            steps += 1
            results = [list(env[v.name].values()) for v in self.returned + self.next]
            given.update((s.name, env[v.name]) for s, v in zip(self.states, self.next))
            position = (position + 1) % self.positions
        return steps, results

    def inputs_text(self):
        texts = ["--input=place=i64=0"]
        for v in self.states + self.inputs:
            numbers = " ".join(str(x) for x in self.given[v.name].values())
            shape = "x".join(map(str, v.shape))
            texts.append(f"--input={v.name[1:]}={shape}xf32=[{numbers}]" if shape else
                         f"--input={v.name[1:]}=f32={numbers}")
        return texts


def plan_of(program, rng, ranks):
    """Shards a state or two; tp chooses the rest."""
    lines = []
    for state in rng.sample(program.states, rng.randint(1, len(program.states))):
        if state.shape:
            lines.append(f'  tp.argument "{state.name[1:]}" '
                         f"shard<{rng.randrange(len(state.shape))}>")
    return (f'tp.plan @plan on <"tp" = {ranks}>["tp"] {{\n' + "\n".join(lines) + "\n}\n")


def compare(program, folder, seed, target, ranks, plan, kept):
    """What is wrong with the program on a target, `(name, options, environment)`, or None."""
    name, options, environment = target
    base = os.path.join(folder, f"{seed}-{name}-{ranks}")
    source, artifact = base + ".mlir", base + ".tp"
    with open(source, "w") as file:
        file.write(program.text())
    command = ["tp-compile", source, "-o", artifact, *options]
    if ranks > 1:
        with open(base + ".plan.mlir", "w") as file:
            file.write(plan)
        command.append(f"--plan={base}.plan.mlir")
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return f"does not compile: {done.stderr[:800]}"
    info = subprocess.run(["tp-run", artifact, "--info"], capture_output=True, text=True,
                          env=environment)
    kept[0] += info.stdout.count(" in place")
    kept[1] += info.stdout.count(", copied: ")
    kept[2] += info.stdout.count(" bytes written")
    names = [f"r{i}" for i in range(len(program.returned))] + [
        f"n{i}" for i in range(len(program.states))]
    files = {name: f"{base}-{name}.npy" for name in names}
    steps, results = program.run()
    done = subprocess.run(
        ["tp-run", artifact, f"--repeat={steps}", "--poison"] + program.inputs_text() +
        [f"--output={name}=@{path}" for name, path in files.items()],
        capture_output=True, text=True, env=environment)
    if done.returncode:
        return f"does not run: {done.stderr[:800]}"
    for name, expected in zip(names, results):
        body = npy.read(files[name])
        got = struct.unpack(f"<{len(body) // 4}f", body)
        if list(got) != expected:
            return f"{name}: expected {expected}, got {list(got)}"
        os.remove(files[name])
    return None


def main():
    parser = seeds.parser_of("folder", count=20)
    parser.add_argument("--ops", type=int, default=8)
    parser.add_argument("--fakes", help="the folder with the libraries of test/Fakes")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    targets = [("cpu", [], None)]
    if options.fakes:
        targets.append(("fakes", fake_devices.OPTIONS, fake_devices.environment(
            options.fakes, os.path.join(options.folder, "cache"))))
    failed, kept = 0, {name: [0, 0, 0] for name, _, _ in targets}
    for seed in range(options.seed, options.seed + options.count):
        rng = random.Random(seed)
        program = Program(rng)
        for _ in range(options.ops):
            program.step()
        program.finish()
        for ranks in (1, rng.choice([2, 3])):
            plan = plan_of(program, rng, ranks)
            for target in targets:
                error = compare(program, options.folder, seed, target, ranks, plan,
                                kept[target[0]])
                if error:
                    failed += 1
                    print(f"seed {seed} on {ranks}, {target[0]}: {error}")
    print(f"{2 * len(targets) * options.count - failed} programs equal, {failed} not")
    for name, (in_place, copied, parts) in kept.items():
        print(f"{name}: states in place: {'some' if in_place else 'none'}, copied: "
              f"{'some' if copied else 'none'}, written in part: {'some' if parts else 'none'}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
