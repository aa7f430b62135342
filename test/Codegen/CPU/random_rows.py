"""Random programs whose last op selects some rows of what products and element by element ops
make, or adds up such rows: rows that are not needed are left out, and the results stay what they
are. Some products are with matrices that are looked up in a table. Compiled for one
rank with poisoned memory, and compared exactly with an evaluation in Python.

    random_rows.py TP_OPT TP_RUN FOLDER --seed=0 --count=20
"""

import json
import os
import random
import subprocess
import sys
from collections import Counter

from random_programs import Program, compare, compile_program, seeds


class RowsProgram(Program):
    """A chain that ends in a select."""

    def matrix(self, rank=2):
        return self.constant([self.rng.choice([2, 3, 4, 5, 8]) for _ in range(rank)])

    def generic(self, inputs, maps, shape, element_type, body, element_of):
        """An element by element op over `shape`. `maps` has the dims of each input."""
        empty = f"%v{self.count}"
        self.count += 1
        out = "x".join([*map(str, shape), element_type])
        self.lines.append(f"    {empty} = tensor.empty() : tensor<{out}>")
        loops = ", ".join(f"d{i}" for i in range(len(shape)))
        texts = [", ".join(f"d{d}" for d in dims) for dims in [*maps, range(len(shape))]]
        maps_text = ", ".join(f"affine_map<({loops}) -> ({text})>" for text in texts)
        kinds = ", ".join(['"parallel"'] * len(shape))
        types = ", ".join(kind for _, kind in inputs)
        arguments = ", ".join(
            f"%a{i}: {kind.rsplit('x', 1)[1][:-1]}" for i, (_, kind) in enumerate(inputs))
        return self.emit(
            f"linalg.generic {{indexing_maps = [{maps_text}], iterator_types = [{kinds}]}} "
            f"ins({', '.join(name for name, _ in inputs)} : {types}) outs({empty} : "
            f"tensor<{out}>) {{\n    ^bb0({arguments}, %z: {element_type}):\n{body}    }} -> "
            f"tensor<{out}>", shape, element_of)

    def looked_up(self, shape):
        """Matrices of a table, one for each index of the first dimension."""
        count = self.rng.choice([2, 3, 5])
        table = self.constant([count, *shape[1:]])
        numbers = self.constant(shape[:1])
        loops = range(len(shape))
        places = "".join(f"      %i{d} = linalg.index {d} : index\n" for d in loops[1:])
        at = "".join(f", %i{d}" for d in loops[1:])
        return self.generic(
            [(numbers.name, numbers.type)], [[0]], shape, "f32",
            "      %m = math.absf %a0 : f32\n      %j = arith.fptosi %m : f32 to i64\n"
            f"      %last = arith.constant {count - 1} : i64\n"
            "      %l = arith.minsi %j, %last : i64\n"
            "      %t = arith.index_cast %l : i64 to index\n" + places +
            f"      %r = tensor.extract {table.name}[%t{at}] : {table.type}\n"
            "      linalg.yield %r : f32\n",
            lambda i: table.data[(min(int(abs(numbers.data[i[:1]])), count - 1), *i[1:])])

    def product(self, a):
        """a, or a batch of it, times a matrix: its last dimension is added up."""
        shape = [*a.shape[:-2], a.shape[-1], self.rng.choice([2, 3, 4, 6])]
        looks_up = len(shape) > 2 and self.rng.random() < 0.4
        b = self.looked_up(shape) if looks_up else self.constant(shape)
        return self.multiplied(a, b, "mk")

    def multiplied(self, a, b, order):
        """The products of `a`, whose matrices have the dimensions `order`, and `b`, k x n."""
        rank, k = len(a.shape), b.shape[-2]
        shape = [*a.shape[:-2], a.shape[-2 + order.index("m")], b.shape[-1]]
        empty = self.empty(shape)
        init = self.emit(f"linalg.fill ins(%zero : f32) outs({empty.name} : {empty.type}) -> "
                         f"{empty.type}", shape, lambda i: 0.0)
        loops = ", ".join(f"d{i}" for i in range(rank + 1))
        names = {"m": f"d{rank - 2}", "n": f"d{rank - 1}", "k": f"d{rank}"}
        batch = [f"d{i}" for i in range(rank - 2)]
        maps = ", ".join(
            f"affine_map<({loops}) -> ({', '.join([*batch, *(names[dim] for dim in own)])})>"
            for own in (order, "kn", "mn"))
        kinds = ", ".join(['"parallel"'] * rank + ['"reduction"'])

        def element(i):
            return sum(a.data[(*i[:-2], *((i[-2], j) if order == "mk" else (j, i[-2])))] *
                       b.data[(*i[:-2], j, i[-1])] for j in range(k))
        return self.emit(
            f"linalg.generic {{indexing_maps = [{maps}], iterator_types = [{kinds}]}} "
            f"ins({a.name}, {b.name} : {a.type}, {b.type}) outs({init.name} : {init.type}) {{\n"
            "    ^bb0(%x: f32, %y: f32, %z: f32):\n      %p = arith.mulf %x, %y : f32\n"
            "      %r = arith.addf %z, %p : f32\n      linalg.yield %r : f32\n"
            f"    }} -> {init.type}", shape, element)

    def scaled(self, a):
        rank = range(len(a.shape))
        add = self.rng.random() < 0.5
        b = self.constant(a.shape[-1:]) if add else self.constant(a.shape)
        op, f = self.rng.choice([("addf", lambda x, y: x + y),
                                 ("maximumf", max)])
        dims = [rank[-1]] if add else rank
        return self.generic(
            [(a.name, a.type), (b.name, b.type)], [rank, dims], a.shape, "f32",
            f"      %r = arith.{op} %a0, %a1 : f32\n      linalg.yield %r : f32\n",
            lambda i: f(a.data[i], b.data[tuple(i[d] for d in dims)]))

    def halved(self, a):
        """Every second column."""
        count = a.shape[-1] // 2
        if count == 0:
            return a
        first = self.rng.randint(0, 1)
        shape = [*a.shape[:-1], count]
        zeros = [0] * (len(shape) - 1)
        ones = [1] * len(zeros)
        text = (f"tensor.extract_slice {a.name}{[*zeros, first]} {shape} {[*ones, 2]} : {a.type} "
                f"to tensor<{'x'.join(map(str, shape))}xf32>")
        return self.emit(text, shape, lambda i: a.data[(*i[:-1], first + 2 * i[-1])])

    def first(self, a):
        """The first of some rows, or of some columns."""
        dim = self.rng.randrange(len(a.shape))
        shape = list(a.shape)
        shape[dim] = self.rng.randint(1, shape[dim])
        zeros, ones = [0] * len(shape), [1] * len(shape)
        text = (f"tensor.extract_slice {a.name}{zeros} {shape} {ones} : {a.type} "
                f"to tensor<{'x'.join(map(str, shape))}xf32>")
        return self.emit(text, shape, lambda i: a.data[i])

    def doubled(self, a):
        rank = range(len(a.shape))
        return self.generic([(a.name, a.type)], [rank], a.shape, "f32",
                            "      %n = arith.constant 2.0 : f32\n"
                            "      %r = arith.mulf %a0, %n : f32\n      linalg.yield %r : f32\n",
                            lambda i: 2 * a.data[i])

    def turned(self, a):
        """The last two dimensions in the other order."""
        rank = len(a.shape)
        dims = [*range(rank - 2), rank - 1, rank - 2]
        return self.generic([(a.name, a.type)], [dims], [a.shape[d] for d in dims], "f32",
                            "      linalg.yield %a0 : f32\n",
                            lambda i: a.data[tuple(i[d] for d in dims)])

    def condition(self, a, last):
        """A condition over some of the first `last` dimensions of `a`, and which these are."""
        dims = self.rng.sample(range(last), self.rng.randint(1, last))
        scores = self.constant([a.shape[d] for d in dims])
        limit = self.rng.randint(-4, 3)
        is_chosen = self.generic(
            [(scores.name, scores.type)], [range(len(dims))], scores.shape, "i1",
            f"      %l = arith.constant {limit}.0 : f32\n"
            "      %c = arith.cmpf ogt, %a0, %l : f32\n      linalg.yield %c : i1\n",
            lambda i: scores.data[i] > limit)
        self.values.remove(is_chosen)
        return is_chosen, dims

    def selected(self, a, is_chosen, dims, number, turned=False):
        """`a` where it is chosen, or, turned round, where it is not; else a number."""
        order = "%n, %a1" if turned else "%a1, %n"

        def element(i):
            keeps = is_chosen.data[tuple(i[d] for d in dims)] != turned
            return a.data[i] if keeps else float(number)
        shape = "x".join(map(str, is_chosen.shape))
        return self.generic(
            [(is_chosen.name, f"tensor<{shape}xi1>"), (a.name, a.type)], [dims, range(len(a.shape))],
            a.shape, "f32",
            f"      %n = arith.constant {number}.0 : f32\n"
            f"      %r = arith.select %a0, {order} : f32\n      linalg.yield %r : f32\n", element)

    def chosen(self, a):
        """What is needed of `a`, and in place of the rest another number."""
        # Now and then columns, or elements.
        condition = self.condition(a, len(a.shape) - (self.rng.random() < 0.8))
        return self.selected(a, *condition, self.rng.choice([0, 1, -2]), self.rng.random() < 0.4)

    def gradient(self, a):
        """A sum over the rows of `a` and of another matrix, both selected. Mostly what is not chosen
        is zero in both."""
        rank = len(a.shape)
        condition = self.condition(a, rank - 1)
        right = self.constant([*a.shape[:-1], self.rng.choice([2, 3, 4, 6])])
        if self.rng.random() < 0.5:
            right = self.scaled(right)
        number = 0 if self.rng.random() < 0.8 else 1
        other = condition if self.rng.random() < 0.8 else self.condition(right, rank - 1)
        return self.multiplied(self.selected(a, *condition, number),
                               self.selected(right, *other, 0), "km")

    def chain(self):
        value = self.product(self.matrix(self.rng.choice([2, 2, 3, 4])))
        made = [value]
        for _ in range(self.rng.randint(0, 4)):
            value = self.rng.choice([self.product, self.product, self.scaled, self.scaled,
                                     self.halved, self.first, self.doubled, self.turned])(value)
            made.append(value)
        results = [self.rng.choice([self.chosen, self.gradient])(value)]
        # What is read elsewhere too is needed there.
        if self.rng.random() < 0.3:
            results.append(self.rng.choice(made))
        return results


def run(tp_opt, tp_run, folder, seed):
    """Nothing or what is wrong, and which of rows and lookups its products have."""
    rng = random.Random(seed)
    program = RowsProgram(rng)
    results = program.chain()
    source = os.path.join(folder, f"rows-{seed}.mlir")
    artifact = os.path.join(folder, f"rows-{seed}.tp")
    with open(source, "w") as file:
        file.write(program.text(results))
    error = compile_program(tp_opt, source, artifact)
    if error:
        return error, set()
    manifest = subprocess.run([tp_opt, source, "--tp-cpu-compile=show=manifest", "-o", os.devnull],
                              capture_output=True, text=True, check=True).stdout
    commands = json.loads(manifest)["entries"][0]["program"]
    return (compare(tp_run, artifact, results, os.path.join(folder, f"rows-{seed}")),
            {key for command in commands for key in ("rows", "terms", "lookup") if key in command})


def main():
    options = seeds.parser_of("tp_opt", "tp_run", "folder", count=20).parse_args()
    os.makedirs(options.folder, exist_ok=True)
    failed, some = 0, Counter()
    for seed in range(options.seed, options.seed + options.count):
        error, keys = run(options.tp_opt, options.tp_run, options.folder, seed)
        some.update(keys)
        if error:
            failed += 1
            print(f"seed {seed}: {error}")
    print(f"{options.count - failed} programs equal, {failed} not, {some['rows']} with rows left "
          f"out, {some['terms']} with terms left out, {some['lookup']} with matrices looked up")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
