"""Attention in many spellings is found, what only looks like it is not; and what is made
of it computes what products and kernels compute of the same program.

    attention_cases.py found TP_OPT FOLDER
    attention_cases.py run TP_OPT TP_COMPILE TP_RUN FOLDER FAKES [--seed=0] [--count=0]

`run` compiles for the CPU and for devices that are the host (test/Fakes), with few queries
in a step; --count adds random programs to those below.
"""

import argparse
import os
import random
import re
import struct
import subprocess
import sys

from attention_programs import attention

CAUSAL = {"upper": 0}
# What a program is, and what is found: bounds, or None where nothing is to be.
CASES = [
    (dict(), {}),
    (dict(form="batch_matmul", scale="q"), {}),
    (dict(scale="both", divide="inverse"), {}),
    (dict(scale="divided", divide="output", E=6), {}),
    (dict(scale="none", order="bshd", T=12), {}),
    (dict(G=2, order="bshd"), {}),
    (dict(G=1, form="batch_matmul"), {}),
    (dict(mask="causal-index-select"), CAUSAL),
    (dict(mask="causal-table-select", guard=True), CAUSAL),
    (dict(mask="causal-table-add", form="batch_matmul", S=16, T=16), CAUSAL),
    (dict(mask="causal-table-add-finite"), CAUSAL),
    (dict(mask="causal-table-select-finite", G=2), CAUSAL),
    (dict(mask="bottom-index-add", S=5, T=16), {"upper": 11}),
    (dict(mask="window-table-select", S=16, T=16), {"lower": -2, "upper": 0}),
    # The first query has no key.
    (dict(mask="strict-table-select", guard=True), {"upper": -1, "empty_rows": "zero"}),
    (dict(mask="strict-table-add"), {"upper": -1, "empty_rows": "nan"}),
    # ... but sees all keys alike where what masks them is finite: no bounds.
    (dict(mask="strict-table-add-finite"), {"bias": True}),
    (dict(mask="prefix-table-select"), {"bias": True, "empty_rows": "nan"}),
    (dict(mask="blocks-table-select", guard=True), {"bias": True, "empty_rows": "zero"}),
    (dict(mask="causal-table-add-small"), {"bias": True}),
    (dict(mask="alibi"), {"bias": True}),
    (dict(mask="signed-zeros"), {}),
    (dict(mask="padding-select", guard=True), {"bias": True, "empty_rows": "zero"}),
    (dict(mask="causal-and-padding", guard=True),
     {"upper": 0, "bias": True, "empty_rows": "zero"}),
    (dict(mask="argument", G=2), {"bias": True, "empty_rows": "nan"}),
    (dict(dtype="bf16", scale="both", mask="causal-table-add", guard=True), CAUSAL),
    (dict(dtype="bf16", wide=False, mask="causal-table-add"), CAUSAL),
    (dict(dtype="bf16", wide=False, mask="argument"), {"bias": True, "empty_rows": "nan"}),
    (dict(dtype="f16", G=2, order="bshd"), {}),
    (dict(dtype="f64", mask="causal-index-select"), CAUSAL),
    # Near misses.
    (dict(miss="wrong-axis"), None),
    (dict(miss="scores-used"), None),
    (dict(miss="weights-used"), None),
    (dict(miss="mask-of-scores"), None),
    (dict(miss="dropout"), None),
    (dict(miss="scale-tensor"), None),
    (dict(miss="softcap"), None),
    (dict(miss="f8-weights"), None),
    (dict(miss="other-maximum"), None),
    (dict(miss="sum-from-one"), None),
    (dict(mask="causal-table-select-small"), None),
]
TOLERANCE = {"f64": 1e-12, "f32": 1e-5, "f16": 4e-3, "bf16": 3e-2}
NPY = {"f64": "<f8", "f32": "<f4", "f16": "<f2", "bf16": "|V2", "i1": "|b1"}


def describe(case):
    return ", ".join(f"{k}={v}" for k, v in case.items()) or "plain"


def write(program, folder, number):
    path = os.path.join(folder, f"{number}.mlir")
    with open(path, "w") as file:
        file.write(program.text())
    return path


def found(text):
    """The bounds of the attentions in it, one dictionary each."""
    forms = {}
    for tag in re.findall(r'tp\.attention = \{([^}]*)\}', text):
        entry = dict(re.findall(r'(\w+) = "?(-?[\w.+-]+)"?', tag))
        if entry["role"] == "scores":
            form = forms.setdefault(entry["id"], {})
            form.update({k: int(entry[k]) for k in ("lower", "upper") if k in entry})
            if "empty_rows" in entry:
                form["empty_rows"] = entry["empty_rows"]
        if entry["role"] == "masked":
            at = text.index(tag)
            line = text.rindex("linalg.generic", 0, at)
            if text[line:at].count("affine_map") + len(
                    re.findall(r"#map\d*", text[line:text.index("]", line)])) > 2:
                forms[entry["id"]]["bias"] = True
    return list(forms.values())


def check_found(tp_opt, folder):
    wrong = 0
    for number, (case, expected) in enumerate(CASES):
        path = write(attention(**case), folder, number)
        done = subprocess.run([tp_opt, path, "--tp-form-attention=target=cuda score-bytes=1024"],
                              capture_output=True, text=True)
        forms = found(done.stdout) if done.returncode == 0 else done.stderr
        if forms != ([] if expected is None else [expected]):
            wrong += 1
            print(f"{path}: {describe(case)}: expected {expected}, got {forms}")
    print(f"{len(CASES) - wrong} as expected, {wrong} not")
    return wrong


def to_bytes(numbers, dtype):
    if dtype == "bf16":
        return b"".join(struct.pack("<f", n)[2:] for n in numbers)
    code = {"f64": "d", "f32": "f", "f16": "e", "i1": "?"}[dtype]
    return struct.pack(f"<{len(numbers)}{code}", *numbers)


def from_bytes(data, dtype):
    if dtype == "bf16":
        return [struct.unpack("<f", b"\0\0" + data[i:i + 2])[0]
                for i in range(0, len(data), 2)]
    code, size = {"f64": ("d", 8), "f32": ("f", 4), "f16": ("e", 2)}[dtype]
    return list(struct.unpack(f"<{len(data) // size}{code}", data))


def write_npy(path, value, numbers):
    header = repr({"descr": NPY[value.dtype], "fortran_order": False,
                   "shape": tuple(value.shape)}).encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header)
        file.write(to_bytes(numbers, value.dtype))


def read_npy(path, dtype):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<H", data[8:10])[0]
    return from_bytes(data[10 + size:], dtype)


def same(a, b, dtype):
    if a != a or b != b:
        return a != a and b != b
    return a == b or abs(a - b) <= TOLERANCE[dtype] * max(1.0, abs(b))


def run(tp_opt, tp_compile, tp_run, folder, environment, number, case, rng):
    """What is different, and how many attentions there were for each target."""
    program = attention(**case)
    path, name = write(program, folder, number), os.path.join(folder, str(number))
    inputs = []
    for i, value in enumerate(program.arguments):
        count = 1
        for size in value.shape:
            count *= size
        numbers = ([rng.random() < 0.6 for _ in range(count)] if value.dtype == "i1"
                   else [rng.gauss(0, 1) for _ in range(count)])
        write_npy(f"{name}-a{i}.npy", value, numbers)
        inputs.append(f"--input=a{i}=@{name}-a{i}.npy")
    if any(value.dtype == "bf16" for value in program.arguments):
        inputs.append("--dtype=bf16")
    steps = 4 * case.get("B", 2) * case.get("H", 4) * case.get("T", 8) * rng.choice([1, 3, 8])
    attentions, results = {}, {}
    for target, compiled in [
            ("plain", [tp_opt, path, "--tp-assign-storage", "--tp-form-kernels",
                       "--tp-cpu-compile=output={}", "-o", os.devnull]),
            ("cpu", [tp_compile, path, "-o", "{}"]),
            ("cuda", [tp_compile, path, "-o", "{}", "--target=cuda", "--chip=host",
                      f"--attention-memory={steps}"])]:
        artifact = f"{name}-{target}.tp"
        for command in ([word.format(artifact) for word in compiled],
                        [tp_run, artifact, "--poison", *inputs,
                         *(f"--output=r{i}=@{name}-{target}-r{i}.npy"
                           for i in range(len(program.results)))],
                        [tp_run, "--info", artifact]):
            done = subprocess.run(command, capture_output=True, text=True, env=environment)
            if done.returncode:
                return done.stderr.strip(), {}
            attentions[target] = done.stdout.count("\nattention per step and rank\n")
        results[target] = [read_npy(f"{name}-{target}-r{i}.npy", r.dtype)
                           for i, r in enumerate(program.results)]
    for target in ("cpu", "cuda"):
        for i, r in enumerate(program.results):
            for e, (a, b) in enumerate(zip(results[target][i], results["plain"][i], strict=True)):
                if not same(a, b, r.dtype):
                    return f"{target}: r{i}[{e}] is {a}, expected {b}", {}
    return "", attentions


def random_case(rng):
    dtype = rng.choice(["f32", "f32", "bf16", "f16", "f64"])
    H, S = rng.choice([1, 2, 4, 6]), rng.choice([2, 5, 8, 17, 33])
    T = rng.choice([S, S, S + 7, 24])
    masks = ["none", "causal-index-select", "padding-select", "causal-and-padding", "argument",
             "alibi"] + [f"{shape}-table-{how}" for shape in
                         ("causal", "window", "strict", "prefix", "blocks")
                         for how in ("select", "add", "add-finite", "select-finite")]
    return dict(B=rng.choice([1, 2, 3]), H=H, S=S, T=T,
                G=rng.choice([g for g in range(1, H + 1) if H % g == 0]),
                D=rng.choice([2, 4, 7, 16]), E=rng.choice([None, 3, 8]), dtype=dtype,
                mask=rng.choice(masks), scale=rng.choice(["scores", "q", "both", "divided"]),
                form=rng.choice(["plain", "batch_matmul"]), guard=rng.random() < 0.3,
                divide=rng.choice(["weights", "inverse", "output"]),
                order=rng.choice(["bhsd", "bshd"]), wide=rng.random() < 0.7)


def check_runs(options):
    rng = random.Random(options.seed)
    names = {"TP_CUDA_DRIVER": "cuda", "TP_NCCL": "nccl", "TP_CUBLASLT": "cublaslt"}
    environment = dict(os.environ, TP_CUDA_CACHE=options.folder,
                       **{v: os.path.join(options.fakes, f"libtp_fake_{n}.so")
                          for v, n in names.items()})
    cases = list(CASES) if not options.only_random else []
    cases += [(random_case(rng), 0) for _ in range(options.count)]
    equal = commands = 0
    for number, (case, expected) in enumerate(cases):
        problem, attentions = run(options.tp_opt, options.tp_compile, options.tp_run, options.folder,
                                  environment, number, case, rng)
        wanted = int(expected is not None)
        if expected != 0 and not problem and attentions != {
                "plain": 0, "cpu": wanted, "cuda": wanted}:
            problem = f"{attentions} attention commands"
        if problem:
            print(f"{options.folder}/{number}.mlir: {describe(case)}: {problem}")
        equal += not problem
        commands += attentions.get("cpu", 0)
    print(f"{equal} of {len(cases)} programs equal, {commands} with an attention command")
    return equal != len(cases)


def main():
    parser = argparse.ArgumentParser()
    parsers = parser.add_subparsers(dest="what", required=True)
    for what, tools in [("found", ["tp_opt"]), ("run", ["tp_opt", "tp_compile", "tp_run"])]:
        sub = parsers.add_parser(what)
        for tool in tools + ["folder"] + (["fakes"] if what == "run" else []):
            sub.add_argument(tool)
    sub.add_argument("--seed", type=int, default=0)
    sub.add_argument("--count", type=int, default=0)
    sub.add_argument("--only-random", action="store_true")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    if options.what == "found":
        return check_found(options.tp_opt, options.folder)
    return check_runs(options)


if __name__ == "__main__":
    sys.exit(main() != 0)
