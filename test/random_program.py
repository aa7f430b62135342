"""A random program of linalg and tensor ops on arguments, and a random plan for it."""

import math

# The largest magnitude that stays exact, whatever is added in what order.
EXACT = {"f32": 2 ** 22, "f64": 2 ** 40, "bf16": 64, "i32": math.inf, "i64": math.inf,
         "i1": 1}
FLOATS = ("f32", "f64", "bf16")


class Value:
    def __init__(self, name, shape, element, bound):
        self.name, self.shape = name, tuple(shape)
        self.element, self.bound = element, bound

    @property
    def type(self):
        return type_of(self.shape, self.element)


def type_of(shape, element):
    return "tensor<" + "".join(f"{n}x" for n in shape) + element + ">"


class Body:
    """Scalars of one linalg body: (name, element, bound)."""

    def __init__(self, program, loops):
        self.program, self.rng, self.loops = program, program.rng, loops
        self.lines, self.count, self.scalars = [], 0, []

    def add(self, text, element, bound):
        name = f"%b{self.count}"
        self.count += 1
        self.lines.append(f"      {name} = {text}")
        scalar = (name, element, bound)
        if element != "index" and bound <= EXACT[element]:
            self.scalars.append(scalar)
        return scalar

    def pick(self, element=None):
        found = [s for s in self.scalars if element in (None, s[1])]
        return self.rng.choice(found) if found else None

    def constant(self, element):
        if element == "i1":
            return self.add(f"arith.constant {self.rng.choice(['true', 'false'])}",
                            element, 1)
        number = self.rng.choice([-2, -1, 0, 0, 1, 2])
        text = f"{number}.0" if element in FLOATS else f"{number}"
        return self.add(f"arith.constant {text} : {element}", element, abs(number))

    def step(self):
        a = self.pick()
        if a is None:
            return
        element = a[1]
        b = self.pick(element) if self.rng.random() < 0.75 else self.constant(element)
        kind = self.rng.random()
        if kind < 0.08 and self.loops:
            self.index(element)
        elif kind < 0.18:
            self.convert(a)
        elif kind < 0.26:
            self.choose(a, b)
        elif kind < 0.36:
            self.read()
        else:
            self.combine(a, b)

    def combine(self, a, b):
        element = a[1]
        if element in FLOATS:
            op = self.rng.choice(["addf", "addf", "addf", "subf", "mulf", "mulf",
                                  "maximumf", "minimumf", "negf"])
        elif element == "i1":
            op = self.rng.choice(["andi", "ori", "xori", "addi", "muli", "maxsi", "minui"])
        else:
            op = self.rng.choice(["addi", "addi", "addi", "subi", "muli", "maxsi", "minsi",
                                  "maxui", "andi", "ori", "xori"])
        bound = a[2] * b[2] if op == "mulf" else a[2] + b[2]
        if op == "negf":
            self.add(f"arith.negf {a[0]} : {element}", element, a[2])
            return
        self.add(f"arith.{op} {a[0]}, {b[0]} : {element}", element,
                 bound if element in FLOATS else 1)

    def index(self, element):
        loop = self.rng.randrange(len(self.loops))
        name = self.add(f"linalg.index {loop} : index", "index", 0)
        if element == "i1":
            zero = self.add("arith.constant 1 : index", "index", 0)
            self.add(f"arith.cmpi sgt, {name[0]}, {zero[0]} : index", "i1", 1)
            return
        whole = element if element in ("i32", "i64") else "i32"
        cast = self.add(f"arith.index_cast {name[0]} : index to {whole}", whole, 1)
        if element in FLOATS:
            self.add(f"arith.sitofp {cast[0]} : {whole} to {element}", element,
                     self.loops[loop])

    def convert(self, a):
        element = a[1]
        if element == "f32":
            if a[2] <= EXACT["bf16"] and self.rng.random() < 0.4:
                self.add(f"arith.truncf {a[0]} : f32 to bf16", "bf16", a[2])
            else:
                self.add(f"arith.extf {a[0]} : f32 to f64", "f64", a[2])
        elif element == "bf16":
            self.add(f"arith.extf {a[0]} : bf16 to f32", "f32", a[2])
        elif element == "f64":
            if a[2] <= EXACT["f32"]:
                self.add(f"arith.truncf {a[0]} : f64 to f32", "f32", a[2])
        elif element == "i64":
            self.add(f"arith.trunci {a[0]} : i64 to i32", "i32", 1)
        elif element == "i32":
            self.add(f"arith.ext{self.rng.choice('su')}i {a[0]} : i32 to i64", "i64", 1)
        elif element == "i1":
            if self.rng.random() < 0.5:
                self.add(f"arith.uitofp {a[0]} : i1 to f32", "f32", 1)
            else:
                self.add(f"arith.ext{self.rng.choice('su')}i {a[0]} : i1 to i32", "i32", 1)

    def choose(self, a, b):
        condition = self.pick("i1")
        if condition is None:
            c = self.pick(a[1]) or a
            if a[1] in FLOATS:
                condition = self.add(f"arith.cmpf {self.rng.choice(['ogt', 'une', 'ole'])}, "
                                     f"{b[0]}, {c[0]} : {a[1]}", "i1", 1)
            else:
                condition = self.add(f"arith.cmpi {self.rng.choice(['sgt', 'ne', 'ule'])}, "
                                     f"{b[0]}, {c[0]} : {a[1]}", "i1", 1)
        self.add(f"arith.select {condition[0]}, {a[0]}, {b[0]} : {a[1]}", a[1],
                 max(a[2], b[2]))

    def read(self):
        """tensor.extract of a table at loops' indices and at computed ones."""
        table = self.program.pick(lambda v: 0 < len(v.shape) <= 3 and min(v.shape) > 0)
        if table is None:
            return
        places = []
        for size in table.shape:
            same = [i for i, n in enumerate(self.loops) if n == size]
            if same and self.rng.random() < 0.6:
                loop = self.rng.choice(same)
                places.append(self.add(f"linalg.index {loop} : index", "index", 0)[0])
            elif self.rng.random() < 0.1:
                at = self.rng.randrange(size)
                places.append(self.add(f"arith.constant {at} : index", "index", 0)[0])
            else:
                whole = self.pick("i64") or self.pick("i32")
                if whole is None:
                    if not self.loops:
                        return
                    loop = self.rng.randrange(len(self.loops))
                    place = self.add(f"linalg.index {loop} : index", "index", 0)[0]
                    seven = self.add("arith.constant 7 : index", "index", 0)[0]
                    place = self.add(f"arith.muli {place}, {seven} : index", "index", 0)[0]
                else:
                    place = self.add(f"arith.index_cast {whole[0]} : {whole[1]} to index",
                                     "index", 0)[0]
                n = self.add(f"arith.constant {size} : index", "index", 0)[0]
                places.append(self.add(f"arith.remui {place}, {n} : index", "index", 0)[0])
        self.add(f"tensor.extract {table.name}[{', '.join(places)}] : {table.type}",
                 table.element, table.bound)


class Program:
    def __init__(self, rng, ranks):
        self.rng, self.ranks = rng, ranks
        self.lines, self.values, self.arguments, self.count = [], [], [], 0
        sizes = [1, ranks, 2 * ranks, 3 * ranks, 12, 24, rng.choice([3, 5, 7])]
        self.sizes = rng.sample(sizes, 5) + ([0] if rng.random() < 0.01 else [])
        for i in range(rng.randint(2, 4)):
            element = rng.choice(["f32"] * 5 + ["f64", "bf16", "i32", "i64", "i64", "i1"])
            value = Value(f"%a{i}", self.random_shape(), element,
                          3 if element in FLOATS else 1)
            self.values.append(value)
            self.arguments.append(value)

    def random_shape(self, most=3):
        while True:
            shape = [self.rng.choice(self.sizes) for _ in range(self.rng.randint(0, most))]
            if math.prod(shape) <= 4000:
                return tuple(shape)

    def pick(self, wanted=lambda v: True):
        found = [v for v in self.values if wanted(v)]
        # What came last is read more often: programs get deep.
        return self.rng.choice(found[-4:] if self.rng.random() < 0.5 else found) \
            if found else None

    def fresh(self, text):
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"    {name} = {text}")
        return name

    def emit(self, text, shape, element, bound):
        value = Value(self.fresh(text), shape, element, bound)
        if bound <= EXACT[element] and math.prod(shape) <= 20000:
            self.values.append(value)
        return value

    def number(self, element):
        if element == "i1":
            return self.rng.choice(["true", "false"])
        number = self.rng.choice([-3, -1, 0, 0, 0, 1, 2])
        return f"{number}.0" if element in FLOATS else str(number)

    def constant(self, shape, element):
        """Of one number or of several."""
        if self.rng.random() < 0.6 or not 0 < math.prod(shape) <= 60:
            text = self.number(element)
            if 0 in shape:
                text = ""
        else:
            def nested(rest):
                if not rest:
                    return self.number(element)
                return "[" + ", ".join(nested(rest[1:]) for _ in range(rest[0])) + "]"
            text = nested(shape)
        return self.emit(f"arith.constant dense<{text}> : {type_of(shape, element)}",
                         shape, element, 3)

    def init(self, shape, element, is_read):
        same = [v for v in self.values if v.shape == tuple(shape) and v.element == element]
        if same and self.rng.random() < 0.4:
            return self.rng.choice(same)
        if self.rng.random() < 0.3:
            return self.constant(shape, element)
        empty = Value(self.fresh(f"tensor.empty() : {type_of(shape, element)}"), shape,
                      element, 0)
        if not is_read:
            return empty
        number = self.fresh(f"arith.constant {self.number(element)} : {element}"
                            if element != "i1" else f"arith.constant {self.number(element)}")
        return self.emit(f"linalg.fill ins({number} : {element}) outs({empty.name} : "
                         f"{empty.type}) -> {empty.type}", shape, element, 3)

    # Ops. Each does nothing if no value suits it.

    def generic(self):
        base = self.pick(lambda v: math.prod(v.shape) <= 4000)
        loops = list(base.shape)
        self.rng.shuffle(loops)
        if self.rng.random() < 0.3 and math.prod(loops) <= 600:
            loops.append(self.rng.choice(self.sizes))
        rank = len(loops)
        inputs, maps = [], []
        for value in [base] + [self.pick() for _ in range(self.rng.randint(0, 2))]:
            dims = self.dims_for(value, loops)
            if dims is not None:
                inputs.append(value)
                maps.append(dims)
        gone = []
        if rank and self.rng.random() < 0.45:
            gone = self.rng.sample(range(rank), self.rng.randint(1, min(2, rank)))
        # A loop whose size no tensor gives is no loop.
        read = {dim for dims in maps for dim in dims}
        gone = [i for i in gone if f"d{i}" in read]
        kept = [i for i in range(rank) if i not in gone]
        self.rng.shuffle(kept)
        body = Body(self, loops)
        arguments = []
        for i, value in enumerate(inputs):
            arguments.append((f"%i{i}", value.element, value.bound))
        body.scalars = list(arguments)
        for _ in range(self.rng.randint(0 if gone else 1, 5)):
            body.step()
        shape = [loops[i] for i in kept]
        results = []
        for r in range(2 if self.rng.random() < 0.12 else 1):
            scalar = body.pick() if self.rng.random() < 0.3 else \
                (body.scalars or [None])[-1]
            if scalar is None:
                return
            results.append(self.result(body, scalar, f"%o{r}", shape, gone, loops))
        self.finish(loops, inputs, maps, kept, gone, body, results, shape)

    def result(self, body, scalar, out, shape, gone, loops):
        """(what is yielded, its element, bound, init)."""
        name, element, bound = scalar
        times = math.prod(loops[i] for i in gone)
        is_read = bool(gone) or self.rng.random() < 0.15
        init = self.init(shape, element, is_read)
        if not is_read:
            return name, element, bound, init
        if element in FLOATS:
            ops = ["addf", "addf", "addf", "maximumf", "minimumf"]
            if bound <= 1 and init.bound <= 1:
                ops.append("mulf")
            if not gone:
                ops += ["mulf", "subf"]
        elif element == "i1":
            ops = ["ori", "andi", "xori", "addi", "maxui"]
        else:
            ops = ["addi", "addi", "muli", "maxsi", "minsi", "ori", "xori", "maxui"]
        op = self.rng.choice(ops)
        if op in ("addf", "subf"):
            bound = init.bound + times * bound
        elif op == "mulf":
            bound = init.bound * bound if not gone else 1
        else:
            bound = max(init.bound, bound)
        if op == "subf" or self.rng.random() < 0.5:
            pair = f"{out}, {name}"
        else:
            pair = f"{name}, {out}"
        line = body.add(f"arith.{op} {pair} : {element}", element, 0)
        return line[0], element, bound, init

    def finish(self, loops, inputs, maps, kept, gone, body, results, shape):
        names = ", ".join(f"d{i}" for i in range(len(loops)))

        def written(dims):
            return f"affine_map<({names}) -> ({', '.join(dims)})>"
        kinds = ", ".join('"reduction"' if i in gone else '"parallel"'
                          for i in range(len(loops)))
        texts = [written(m) for m in maps] + \
            [written([f"d{i}" for i in kept])] * len(results)
        scalars = [f"%i{i}: {v.element}" for i, v in enumerate(inputs)] + \
            [f"%o{i}: {r[1]}" for i, r in enumerate(results)]
        inits = [r[3] for r in results]
        types = [type_of(shape, r[1]) for r in results]
        returned = types[0] if len(types) == 1 else f"({', '.join(types)})"
        ins = ", ".join(v.name for v in inputs) + " : " + ", ".join(v.type for v in inputs)
        text = (f"linalg.generic {{indexing_maps = [{', '.join(texts)}], "
                f"iterator_types = [{kinds}]}} ins({ins}) "
                f"outs({', '.join(v.name for v in inits)} : {', '.join(types)}) {{\n"
                f"    ^bb0({', '.join(scalars)}):\n" + "".join(x + "\n" for x in body.lines) +
                f"      linalg.yield {', '.join(r[0] for r in results)} : "
                f"{', '.join(r[1] for r in results)}\n    }} -> {returned}")
        if len(results) == 1:
            self.emit(text, shape, results[0][1], results[0][2])
            return
        name = f"%v{self.count}"
        self.count += 1
        self.lines.append(f"    {name}:{len(results)} = {text}")
        for i, r in enumerate(results):
            if r[2] <= EXACT[r[1]]:
                self.values.append(Value(f"{name}#{i}", shape, r[1], r[2]))

    def dims_for(self, value, loops):
        """A map that reads `value`, dimensions of size 1 also at 0."""
        dims, free = [], list(range(len(loops)))
        for size in value.shape:
            same = [i for i in free if loops[i] == size]
            if size == 1 and (not same or self.rng.random() < 0.5):
                dims.append("0")
            elif same:
                loop = self.rng.choice(same)
                if self.rng.random() < 0.97:
                    free.remove(loop)
                dims.append(f"d{loop}")
            else:
                return None
        # Every loop needs a size from some operand; the base has them all.
        return dims

    def matmul(self):
        a = self.pick(lambda v: len(v.shape) in (2, 3))
        b = a and self.pick(lambda v: len(v.shape) == len(a.shape) and
                            v.element == a.element and v.shape[-2] == a.shape[-1] and
                            v.shape[:-2] == a.shape[:-2])
        if not b:
            if not a:
                return
            b = self.constant(a.shape[:-2] + (a.shape[-1], self.rng.choice(self.sizes)),
                              a.element)
        if a.element == "i1":
            return
        shape = a.shape[:-1] + b.shape[-1:]
        init = self.init(shape, a.element, True)
        op = "matmul" if len(a.shape) == 2 else "batch_matmul"
        self.emit(f"linalg.{op} ins({a.name}, {b.name} : {a.type}, {b.type}) "
                  f"outs({init.name} : {init.type}) -> {init.type}", shape, a.element,
                  init.bound + a.bound * b.bound * a.shape[-1]
                  if a.element in FLOATS else 1)

    def transpose(self):
        a = self.pick(lambda v: len(v.shape) >= 2)
        if not a:
            return
        order = list(range(len(a.shape)))
        self.rng.shuffle(order)
        shape = [a.shape[i] for i in order]
        out = self.init(shape, a.element, False)
        self.emit(f"linalg.transpose ins({a.name} : {a.type}) outs({out.name} : {out.type}) "
                  f"permutation = {order}", shape, a.element, a.bound)

    def broadcast(self):
        a = self.pick(lambda v: len(v.shape) <= 2)
        if not a:
            return
        at = self.rng.randint(0, len(a.shape))
        shape = a.shape[:at] + (self.rng.choice(self.sizes),) + a.shape[at:]
        if math.prod(shape) > 4000:
            return
        out = self.init(shape, a.element, False)
        self.emit(f"linalg.broadcast ins({a.name} : {a.type}) outs({out.name} : {out.type}) "
                  f"dimensions = [{at}]", shape, a.element, a.bound)

    def collapse(self):
        a = self.pick(lambda v: len(v.shape) >= 2)
        if not a:
            return
        at = self.rng.randrange(len(a.shape) - 1)
        groups = [[i] for i in range(at)] + [[at, at + 1]] + \
                 [[i] for i in range(at + 2, len(a.shape))]
        shape = a.shape[:at] + (a.shape[at] * a.shape[at + 1],) + a.shape[at + 2:]
        self.emit(f"tensor.collapse_shape {a.name} {groups} : {a.type} into "
                  f"{type_of(shape, a.element)}", shape, a.element, a.bound)

    def expand(self):
        a = self.pick(lambda v: any(n > 0 for n in v.shape) and len(v.shape) < 4)
        if not a:
            return
        at = self.rng.choice([i for i, n in enumerate(a.shape) if n > 0])
        n = self.rng.choice([d for d in range(1, a.shape[at] + 1) if a.shape[at] % d == 0])
        groups = [[i] for i in range(at)] + [[at, at + 1]] + \
                 [[i + 1] for i in range(at + 1, len(a.shape))]
        shape = a.shape[:at] + (a.shape[at] // n, n) + a.shape[at + 1:]
        self.emit(f"tensor.expand_shape {a.name} {groups} output_shape {list(shape)} : "
                  f"{a.type} into {type_of(shape, a.element)}", shape, a.element, a.bound)

    def slice(self):
        a = self.pick(lambda v: v.shape and min(v.shape) > 0)
        if not a:
            return
        whole = [self.rng.random() < 0.6 for _ in a.shape]
        strides = [1 if w else self.rng.choice([1, 1, 2]) for w in whole]
        offsets = [0 if w else self.rng.randrange(n) for w, n in zip(whole, a.shape)]
        sizes = [n if w else self.rng.randint(1, -(-(n - o) // s))
                 for w, n, o, s in zip(whole, a.shape, offsets, strides)]
        shape = [n for n in sizes if n != 1] if self.rng.random() < 0.3 else sizes
        self.emit(f"tensor.extract_slice {a.name}{offsets} {sizes} {strides} : {a.type} to "
                  f"{type_of(shape, a.element)}", shape, a.element, a.bound)

    def insert(self):
        a = self.pick(lambda v: v.shape and min(v.shape) > 0)
        b = a and self.pick(lambda v: len(v.shape) == len(a.shape) and
                            v.element == a.element and
                            all(m <= n for m, n in zip(v.shape, a.shape)))
        if not b:
            return
        at = [self.rng.randint(0, n - m) for m, n in zip(b.shape, a.shape)]
        self.emit(f"tensor.insert_slice {b.name} into {a.name}{at} {list(b.shape)} "
                  f"{[1] * len(at)} : {b.type} into {a.type}", a.shape, a.element,
                  max(a.bound, b.bound))

    def concat(self):
        a = self.pick(lambda v: v.shape)
        if not a:
            return
        d = self.rng.randrange(len(a.shape))
        parts = [a]
        for _ in range(self.rng.randint(0, 2)):
            parts.append(self.pick(
                lambda v: len(v.shape) == len(a.shape) and v.element == a.element and all(
                    i == d or m == n for i, (m, n) in enumerate(zip(v.shape, a.shape)))))
        shape = a.shape[:d] + (sum(p.shape[d] for p in parts),) + a.shape[d + 1:]
        self.emit(f"tensor.concat dim({d}) {', '.join(p.name for p in parts)} : "
                  f"({', '.join(p.type for p in parts)}) -> {type_of(shape, a.element)}",
                  shape, a.element, max(p.bound for p in parts))

    def step(self):
        kinds = [self.generic] * 9 + [self.matmul] * 4 + [
            self.transpose, self.broadcast, self.collapse, self.expand, self.expand,
            self.slice, self.insert, self.concat,
            lambda: self.constant(self.random_shape(), self.rng.choice(["f32", "i64", "i1"]))]
        self.rng.choice(kinds)()

    def text(self, results):
        arguments = ", ".join(f'{v.name}: {v.type} {{tp.name = "{v.name[1:]}", '
                              f'tp.kind = "user_input"}}' for v in self.arguments)
        ports = ", ".join(f'{v.type} {{tp.name = "r{i}"}}' for i, v in enumerate(results))
        returned = f"    return {', '.join(v.name for v in results)} : " \
                   f"{', '.join(v.type for v in results)}" if results else "    return"
        return (f"func.func @main({arguments}) -> ({ports}) {{\n" +
                "\n".join(self.lines) + "\n" + returned + "\n}\n")

    def layout(self, value):
        if self.rng.random() < 0.25 or not value.shape:
            return "replicate"
        divisible = [d for d, n in enumerate(value.shape) if n and n % self.ranks == 0]
        if not divisible or self.rng.random() < 0.05:
            d = self.rng.randrange(len(value.shape))
        else:
            d = self.rng.choice(divisible)
        return f"shard<{d}>"

    def plan(self, results):
        lines = [f'#mesh = #tp.mesh<"tp" = {self.ranks}>', 'tp.plan @p on #mesh["tp"] {']
        for value in self.arguments:
            if self.rng.random() < 0.8:
                lines.append(f'  tp.argument "{value.name[1:]}" {self.layout(value)}')
        for i, value in enumerate(results):
            if self.rng.random() < 0.5:
                lines.append(f"  tp.result {i} {self.layout(value)}")
        return "\n".join(lines + ["}", ""])
