"""One program through tp: compiled, simulated, run on all ranks, compared."""

import os
import re
import subprocess

import arrays
import program_text

PASSED_ON = re.compile(r"\.mlir['\"]?(?::\d+:\d+\S*)?:? error: (.*)")


class Failure(Exception):
    """tp is wrong. `kind`: compile, crash, run or differ; generator: the program is."""

    def __init__(self, kind, text):
        super().__init__(f"{kind}: {text}")
        self.kind = kind


class Refusal(Exception):
    """tp-compile says, at a place, why it cannot."""


# Longer than any program takes on a machine that is busy.
TIME_LIMIT = 900


def execute(command):
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=TIME_LIMIT)
    except subprocess.TimeoutExpired:
        return None, "hangs"
    return done.returncode, done.stdout.decode(errors="replace")


# What the simulator, a verifier between passes or the back end says of a
# program that tp's own passes made: no fault of the program's.
INTERNAL = re.compile(
    r"rank \d+ (reads|computes)|expected .*, rank \d+ has|partial values of ranks|"
    r"which nothing has written|tp-verify|op verification|failed to verify|"
    r"operand #\d+ |unrealized|cannot be simulated|local values")


def compile_program(path, output, options):
    """Refusal for a located error that the program's author could act on."""
    code, text = execute(["tp-compile", path, "-o", output] + options)
    if code == 0:
        if "not verified" in text and INTERNAL.search(text):
            raise Failure("compile", text[:1500])
        return
    errors = PASSED_ON.findall(text)
    if code != 1 or not errors or "PLEASE submit" in text:
        raise Failure("crash", f"tp-compile {' '.join(options)} ends with {code}: "
                      f"{text[:1500]}")
    if re.search("undeclared SSA|redefinition of", errors[0]):
        raise Failure("generator", text[:1500])
    if INTERNAL.search(errors[0]):
        raise Failure("compile", text[:1500])
    raise Refusal(errors[0])


def run_program(artifact, folder, tag, ranks, ports, more=()):
    """The bytes of the results."""
    paths = [os.path.join(folder, f"{tag}-{i}.npy") for i in range(len(ports[1]))]
    code, text = execute(
        ["tp-run", artifact, f"--ranks={ranks}", "--poison", "--dtype=bf16"] +
        [f"--input={v.name}=@{folder}/{v.name}.npy" for v in ports[0]] +
        [f"--output={v.name}=@{path}" for v, path in zip(ports[1], paths)] + list(more))
    if code:
        raise Failure("run", f"tp-run of {tag} ends with {code}: {text[:1500]}")
    return [arrays.read_npy(path) for path in paths]


def inputs_of(text, seed):
    """The bytes of all arguments of a program."""
    return [arrays.bytes_of(v.element, arrays.draw(v, seed))
            for v in program_text.ports(text)[0]]


def check(path, text, inputs, expected, one_rank=False, mode="threads"):
    """Raises Failure or Refusal. `expected`: the bytes of the results; None where
    there is no reference, so that one rank says what is right."""
    folder = os.path.dirname(path)
    ports, ranks = program_text.ports(text), program_text.number_of_ranks(text)
    for port, data in zip(ports[0], inputs):
        arrays.write_npy(os.path.join(folder, port.name + ".npy"), port, data)
    known = [arrays.rounded(port, ports[0], inputs) for port in ports[1]]
    if expected is not None:
        expected = [mine or theirs for mine, theirs in zip(known, expected)]
    many = os.path.join(folder, "many.tp")
    compile_program(path, many, ["--verify"])
    got = run_program(many, folder, "many", ranks, ports, [f"--transport={mode}"])
    if one_rank or expected is None:
        plain = os.path.join(folder, "plain.mlir")
        with open(plain, "w") as file:
            file.write(program_text.without_placements(text))
        one = os.path.join(folder, "one.tp")
        compile_program(plain, one, [])
        alone = run_program(one, folder, "one", 1, ports)
        if expected is None:
            expected = [mine or theirs for mine, theirs in zip(known, alone)]
        compare(ports[1], expected, alone, "on one rank")
    compare(ports[1], expected, got, f"on {ranks} ranks")


def compare(results, expected, got, where):
    for port, a, b in zip(results, expected, got):
        difference = arrays.difference(port, a, b)
        if difference:
            raise Failure("differ", f"{where}, {difference}")
