"""Programs of a rank under mpirun, against tp-run on the same program and data.

    mpi_programs.py FOLDER --collectives       every collective on several meshes
    mpi_programs.py FOLDER --redistributions=N random chains of layout changes on random meshes
    mpi_programs.py FOLDER --llama             examples/llama, against PyTorch's logits

Each rank compares all its elements.
"""
import argparse
import itertools
import math
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import npy
import redistributions

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
EXAMPLE = os.path.join(ROOT, "examples", "mpi")
LLAMA = os.path.join(ROOT, "examples", "llama")
MPIRUN = os.environ.get("MPIRUN", "mpirun")
# Open MPI refuses more ranks than cores, and the super-user, unless told.
ENVIRONMENT = {**os.environ, "OMPI_MCA_rmaps_base_oversubscribe": "1",
               "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
               "OMPI_MCA_mpi_yield_when_idle": "1"}


class Failure(Exception):
    """A tool ends with an error."""


def execute(*command):
    done = subprocess.run(command, capture_output=True, text=True, env=ENVIRONMENT)
    if done.returncode:
        raise Failure(f"{' '.join(command)[:400]} ends with {done.returncode}: "
                      f"{(done.stderr + done.stdout)[-2500:]}")
    return done.stdout


def build(folder):
    """The library and the artifact of local.mlir."""
    path = os.path.join(folder, "local")
    execute("tp-opt", path + ".mlir", f"--tp-cpu-compile=output={path}.tp", "-o", os.devnull)
    execute(os.path.join(EXAMPLE, "build.sh"), path + ".mlir", path + ".so")


def run(options, folder, ranks, results, *arguments):
    """Runs what `build` made on so many ranks, each of which has to find so many results equal."""
    path = os.path.join(folder, "local")
    printed = execute(MPIRUN, "-n", str(ranks), sys.executable,
                      os.path.join(EXAMPLE, "run-rank.py"), path + ".so", path + ".tp",
                      f"--runtime={options.runtime}", *arguments)
    if printed.count(" is equal") != ranks * results:
        raise Failure(f"{folder}: expected {ranks * results} equal results, got\n{printed}")


def layout(mesh):
    """A layout by which the first dimension of local arrays is that of the global one, rank by
    rank."""
    return "#tp.layout<#mesh, [" + ", ".join(["shard<0>"] * len(mesh)) + "]>"


class Program:
    """A rank's program whose arguments and results are other numbers on every rank."""

    def __init__(self, axes, devices, ranks):
        self.mesh = ", ".join(f'"{name}" = {size}' for name, size in axes.items())
        self.mesh += f", devices = {devices}" if devices else ""
        self.layout = layout(axes)
        self.ranks = ranks
        self.arguments, self.results, self.lines = [], [], []
        self.count = itertools.count()

    def port(self, shape, element, name):
        local = "x".join(map(str, [*shape, element]))
        whole = "x".join(map(str, [self.ranks * shape[0], *shape[1:], element]))
        return (f"tensor<{local}>", f"{{tp.global_type = tensor<{whole}>, "
                f'tp.layout = {self.layout}, tp.name = "{name}"}}')

    def argument(self, shape, element):
        name = f"x{len(self.arguments)}"
        kind, attributes = self.port(shape, element, name)
        self.arguments.append((name, shape, element, f"%{name}: {kind} {attributes}"))
        return f"%{name}"

    def add(self, text, result=None):
        """A line that makes a value; it is a result if `result`, its shape and element, is given."""
        value = f"%v{next(self.count)}"
        self.lines.append(f"    {value} = {text}")
        if result:
            self.results.append((value, *result))
        return value

    def convert(self, value, shape, source, target, op):
        """Every element by an op of arith."""
        dims = ", ".join(f"d{i}" for i in range(len(shape)))
        kinds = ", ".join(['"parallel"'] * len(shape))
        type_of = lambda element: f"tensor<{'x'.join(map(str, [*shape, element]))}>"
        init = self.add(f"tensor.empty() : {type_of(target)}")
        map_of = f"affine_map<({dims}) -> ({dims})>"
        return self.add(
            f"linalg.generic {{indexing_maps = [{map_of}, {map_of}], iterator_types = [{kinds}]}} "
            f"ins({value} : {type_of(source)}) outs({init} : {type_of(target)}) {{\n"
            f"    ^bb0(%e: {source}, %o: {target}):\n      %c = {op}\n"
            f"      linalg.yield %c : {target}\n    }} -> {type_of(target)}")

    def text(self):
        ports = [self.port(shape, element, f"y{i}")
                 for i, (_, shape, element) in enumerate(self.results)]
        types = ", ".join(kind for kind, _ in ports)
        return (f"#mesh = #tp.mesh<{self.mesh}>\nmodule attributes {{tp.mesh = #mesh}} {{\n"
                f"  func.func @main({', '.join(text for *_, text in self.arguments)}) -> ("
                + ", ".join(f"{kind} {attributes}" for kind, attributes in ports) + ") {\n"
                + "\n".join(self.lines)
                + f"\n    return {', '.join(value for value, *_ in self.results)} : {types}\n"
                "  }\n}\n")


NARROW = {"bf16": ("arith.truncf %e : f32 to bf16", "arith.extf %e : bf16 to f32"),
          "f16": ("arith.truncf %e : f32 to f16", "arith.extf %e : f16 to f32")}


def add_collectives(program, axes, size):
    """All collectives over one list of axes, as results of the program. Sizes are not multiples of
    the group's where they need not be."""
    over = f"over <#mesh, [{axes}]>"
    tensor = lambda shape, element: f"tensor<{'x'.join(map(str, [*shape, element]))}>"
    for element, kinds in (("f32", "sum avg product max min"), ("f64", "sum avg max"),
                           ("i32", "sum product max min"), ("i8", "sum max"), ("i64", "min")):
        value = program.argument([3, 5], element)
        for kind in kinds.split():
            plain = tensor([3, 5], element)
            program.add(f"tp.all_reduce {kind} {value} {over} : {plain} -> {plain}",
                        ([3, 5], element))
    real = program.argument([2, 3, 2 * size], "f32")
    for element, (narrow, widen) in NARROW.items():
        value = program.convert(real, [2, 3, 2 * size], "f32", element, narrow)
        source, target = [2, 3, 2 * size], [2, 3, 2]
        for kind in ("sum", "avg", "min"):
            local = program.add(f"tp.reduce_scatter {kind} {value} dim 2 {over} : "
                                f"{tensor(source, element)} -> {tensor(target, element)}")
            back = program.convert(local, target, element, "f32", widen)
            program.results.append((back, target, "f32"))
    zero = program.add("arith.constant 0.0 : f32")
    truth = program.convert(real, [2, 3, 2 * size], "f32", "i1",
                            f"arith.cmpf olt, %e, {zero} : f32")
    for kind in ("max", "min"):
        plain = tensor([2, 3, 2 * size], "i1")
        local = program.add(f"tp.all_reduce {kind} {truth} {over} : {plain} -> {plain}")
        back = program.convert(local, [2, 3, 2 * size], "i1", "i32", "arith.extui %e : i1 to i32")
        program.results.append((back, [2, 3, 2 * size], "i32"))
    whole = program.argument([3, size, 5], "i64")
    for dim, shape in ((0, [3 * size, size, 5]), (2, [3, size, 5 * size])):
        program.add(f"tp.all_gather {whole} dim {dim} {over} : {tensor([3, size, 5], 'i64')} -> "
                    f"{tensor(shape, 'i64')}", (shape, "i64"))
    plain = tensor([3, size, 5], "i64")
    program.add(f"tp.reduce_scatter max {whole} dim 1 {over} : {plain} -> {tensor([3, 1, 5], 'i64')}",
                ([3, 1, 5], "i64"))
    program.add(f"tp.all_to_all {whole} split 1 concat 2 {over} : {plain} -> "
                f"{tensor([3, 1, 5 * size], 'i64')}", ([3, 1, 5 * size], "i64"))
    program.add(f"tp.all_to_all {whole} split 1 concat 0 {over} : {plain} -> "
                f"{tensor([3 * size, 1, 5], 'i64')}", ([3 * size, 1, 5], "i64"))
    for sources in ([(i + 1) % size for i in range(size)], [size - 1 - i for i in range(size)],
                    [i // 2 for i in range(size)]):
        program.add(f"tp.permute {whole} sources {sources} {over} : {plain} -> {plain}",
                    ([3, size, 5], "i64"))
    index = program.add(f"tp.axis_index {over} : index")
    number = program.add(f"arith.index_cast {index} : index to i64")
    program.add(f"tensor.from_elements {number} : tensor<1xi64>", ([1], "i64"))


# Axes, device order, and the lists of axes of collectives.
MESHES = [({"a": 2}, None, ['"a"']),
          ({"a": 3}, [2, 0, 1], ['"a"']),
          ({"a": 2, "b": 2}, None, ['"a"', '"b"', '"b", "a"']),
          ({"a": 4}, [3, 1, 0, 2], ['"a":1:2', '"a":2:2'])]
FORMATS = {"f32": ("<f4", "f"), "f64": ("<f8", "d"), "i8": ("|i1", "b"), "i32": ("<i4", "i"),
           "i64": ("<i8", "q")}
EDGES = [math.nan, -0.0, 0.0, math.inf, -math.inf]


def write_random(rng, path, shape, element):
    """Numbers whose sums and products have no rounding, and of floats some edge values."""
    descr, code = FORMATS[element]
    numbers = [rng.choice([-2, -1, 1, 2]) for _ in range(math.prod(shape))]
    if element in ("f32", "f64"):
        numbers = [rng.choice(EDGES) if rng.random() < 0.1 else n / 2 for n in numbers]
    npy.write(path, descr, shape, struct.pack(f"<{len(numbers)}{code}", *numbers))


def check_collectives(options):
    """Against tp-run, bit for bit but for NaN."""
    total = 0
    for seed, (axes, devices, lists) in enumerate(MESHES):
        rng = random.Random(seed)
        ranks = math.prod(axes.values())
        program = Program(axes, devices, ranks)
        for text in lists:
            sizes = [int(part.split(":")[2]) if ":" in part else axes[part.strip(' "')]
                     for part in text.split(",")]
            add_collectives(program, text, math.prod(sizes))
        folder = os.path.join(options.folder, f"mesh-{seed}")
        os.makedirs(folder, exist_ok=True)
        path = lambda name: os.path.join(folder, name + ".npy")
        with open(os.path.join(folder, "local.mlir"), "w") as file:
            file.write(program.text())
        inputs = []
        for name, shape, element, _ in program.arguments:
            write_random(rng, path(name), [ranks * shape[0], *shape[1:]], element)
            inputs.append(f"--input={name}=@{path(name)}")
        names = [f"y{i}" for i in range(len(program.results))]
        local = os.path.join(folder, "local")
        build(folder)
        execute("tp-run", local + ".tp", f"--ranks={ranks}", *inputs,
                *[f"--output={name}=@{path(name)}" for name in names])
        run(options, folder, ranks, len(names), *inputs, "--atol=0", "--rtol=0", "--steps=3",
            *[f"--expected-output={name}=@{path(name)}" for name in names])
        total += ranks * len(names)
    print(f"collectives: {total} results equal on {len(MESHES)} meshes")


def check_redistributions(options):
    """Every argument goes through random layouts and ends as it was."""
    collectives = 0
    for seed in range(options.redistributions):
        text, ranks, tensors = redistributions.program(random.Random(seed), options.chains)
        folder = os.path.join(options.folder, f"seed-{seed}")
        os.makedirs(folder, exist_ok=True)
        path = lambda name: os.path.join(folder, name)
        with open(path("layouts.mlir"), "w") as file:
            file.write(text)
        execute("tp-opt", path("layouts.mlir"), "--tp-insert-collectives", "--tp-partition",
                "--tp-bucket-collectives", "-o", path("local.mlir"))
        collectives += redistributions.collectives_of(path("local.mlir"))
        ports = []
        for i, (shape, element) in enumerate(tensors):
            redistributions.write_npy(path(f"x{i}.npy"), shape, element)
            ports += [f"--input=x{i}=@{path(f'x{i}.npy')}",
                      f"--expected-output=y{i}=@{path(f'x{i}.npy')}"]
        build(folder)
        run(options, folder, ranks, len(tensors), *ports, "--atol=0", "--rtol=0")
    print(f"redistributions: {options.redistributions} programs equal, {collectives} collectives")


def check_llama(options):
    """The logits of PyTorch, on even and uneven numbers of ranks."""
    for plan, ranks in (("megatron", 4), ("sequence-parallel", 3), ("megatron", 2)):
        folder = os.path.join(options.folder, f"{plan}-{ranks}")
        os.makedirs(folder, exist_ok=True)
        plan_path = os.path.join(LLAMA, plan + ".plan.mlir")
        execute("tp-opt", os.path.join(LLAMA, "model.mlir"),
                f"--pass-pipeline=builtin.module(tp-partition-pipeline{{plan={plan_path} "
                f"mesh=tp={ranks}}})", "-o", os.path.join(folder, "local.mlir"))
        ports = [f"--weights={os.path.join(LLAMA, 'weights.safetensors')}",
                 f"--input=tokens=@{os.path.join(LLAMA, 'tokens.npy')}",
                 f"--expected-output=view_53=@{os.path.join(LLAMA, 'logits.npy')}"]
        build(folder)
        run(options, folder, ranks, 1, *ports)
        print(f"llama, {plan}: equal on {ranks} ranks")
    # On too few ranks the program ends before it has results.
    try:
        run(options, folder, 1, 0, *ports)
    except Failure as failure:
        if "view_53 is" in str(failure):
            raise
    else:
        raise Failure("a program for 2 ranks runs on one")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--runtime", required=True, help="libtp_runtime.so")
    parser.add_argument("--collectives", action="store_true")
    parser.add_argument("--redistributions", type=int, default=0)
    parser.add_argument("--chains", type=int, default=6)
    parser.add_argument("--llama", action="store_true")
    options = parser.parse_args()
    try:
        if options.collectives:
            check_collectives(options)
        if options.redistributions:
            check_redistributions(options)
        if options.llama:
            check_llama(options)
    except Failure as failure:
        print(failure)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
