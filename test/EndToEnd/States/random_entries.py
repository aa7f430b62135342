"""Random programs of several entries over the same states, run in a random order on one
rank and on several, and compared, exactly, with an evaluation in Python.

    random_entries.py FOLDER LIBRARY --seed=0 --count=20 --ops=6

An entry is a program of random_states.py. All update the states that the first one
has; each has inputs of its own, of one name and other shapes.
"""

import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
import entries
import seeds
from random_states import Program, Value, indices, plan_of

NAMES = ["prompt", "token", "batch"]
RUNS = 6
# Beyond this, sums of f32 are not exact: the rest of a run is not compared.
LARGEST_EXACT = float(1 << 24)


def program_over(first, rng):
    """Another program with the states of `first`."""
    other = Program(rng)
    other.states, other.positions = first.states, first.positions
    shape = rng.choice(first.states).shape
    other.inputs = [Value("%x", shape, None)]
    other.values = other.states + other.inputs
    other.given = {"%x": {i: float(rng.randint(-4, 4)) for i in indices(shape)}}
    return other


def programs_of(rng, ops):
    programs = [Program(rng)]
    while len(programs) < rng.choice([2, 2, 3]):
        programs.append(program_over(programs[0], rng))
    for program in programs:
        for _ in range(rng.randint(1, ops)):
            program.step()
        program.finish()
    return dict(zip(NAMES, programs))


def text_of(programs, rng):
    functions = []
    for name, program in programs.items():
        text = program.text().replace("func.func @main", f"func.func @{name}", 1)
        if rng.random() < 0.5:
            calls = rng.choice([1, 3, 100])
            text = text.replace(") {\n%zero", f") attributes {{tp.calls = {calls} : i64}} {{\n%zero", 1)
        functions.append(text)
    return "\n".join(functions)


class Reference:
    def __init__(self, programs):
        self.programs = programs
        first = next(iter(programs.values()))
        self.states = {s.name: first.given[s.name] for s in first.states}
        self.position = 0

    def step(self, name):
        program = self.programs[name]
        env = dict(self.states, position=self.position, **{"%x": program.given["%x"]})
        for value in program.computed:
            env[value.name] = {i: value.element_of(env, i) for i in indices(value.shape)}
        self.is_exact = all(abs(x) < LARGEST_EXACT for value in program.computed
                            for x in env[value.name].values())
        self.states = {s.name: env[v.name] for s, v in zip(program.states, program.next)}
        self.position = (self.position + 1) % program.positions
        return [list(env[v.name].values()) for v in program.returned + program.next]


def run_all(library, artifact, programs, order):
    """What is wrong, or nothing."""
    run = entries.Run(library, artifact)
    reference = Reference(programs)
    try:
        for name, program in programs.items():
            run.entries[name].set("x", program.given["%x"].values())
        # Set by one entry for all.
        some = run.entries[order[-1]]
        for state, elements in reference.states.items():
            some.set(state[1:], elements.values())
        some.set("place", [0])
        for number, name in enumerate(order):
            run.entries[name].step()
            expected = reference.step(name)
            if not reference.is_exact:
                break
            returned = len(programs[name].returned)
            names = [f"r{i}" for i in range(returned)]
            names += [f"n{i}" for i in range(len(expected) - returned)]
            for result, elements in zip(names, expected):
                got = run.entries[name].get(result)
                if got != elements:
                    return f"step {number}, @{name}, {result}: {got}, expected {elements}"
        run.close()
    except RuntimeError as error:
        return str(error)
    return None


def compare(arguments, programs, seed, ranks, rng):
    base = os.path.join(arguments.folder, f"{seed}-{ranks}")
    with open(base + ".mlir", "w") as file:
        file.write(text_of(programs, rng))
    command = ["tp-compile", base + ".mlir", "-o", base + ".tp"]
    if ranks > 1:
        with open(base + ".plan.mlir", "w") as file:
            file.write(plan_of(next(iter(programs.values())), rng, ranks))
        command.append(f"--plan={base}.plan.mlir")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        return f"does not compile: {done.stderr[:800]}"
    names = list(programs)
    order = [rng.choice(names) for _ in range(RUNS)]
    return run_all(arguments.library, base + ".tp", programs, order)


def main():
    parser = seeds.parser_of("folder", "library", count=20)
    parser.add_argument("--ops", type=int, default=6)
    arguments = parser.parse_args()
    os.makedirs(arguments.folder, exist_ok=True)
    equal = wrong = 0
    for seed in range(arguments.seed, arguments.seed + arguments.count):
        rng = random.Random(seed)
        programs = programs_of(rng, arguments.ops)
        for ranks in (1, rng.choice([2, 3])):
            problem = compare(arguments, programs, seed, ranks, rng)
            if problem:
                print(f"seed {seed}, {ranks} ranks: {problem}")
                wrong += 1
            else:
                equal += 1
    print(f"{equal} programs equal, {wrong} not")


if __name__ == "__main__":
    main()
