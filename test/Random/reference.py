"""What programs compute by themselves: lowered by upstream passes alone, many
programs in one shared object, called in a process of their own."""

import ctypes
import math
import os
import pickle
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import program_text
from llvm_folder import llvm_folder

LLVM = llvm_folder()
LOOPS = [
    f"--transform-preload-library=transform-library-paths={HERE}/Inputs/lower.mlir",
    "--transform-interpreter", "--convert-elementwise-to-linalg",
    "--one-shot-bufferize=bufferize-function-boundaries "
    "function-boundary-type-conversion=identity-layout-map",
    "--buffer-results-to-out-params=modify-public-functions",
    "--convert-linalg-to-loops", "--expand-strided-metadata", "--lower-affine"]
TO_LLVM = [
    "--math-expand-ops=ops=fpowi", "--arith-expand=include-bf16=false",
    "--convert-scf-to-cf", "--convert-math-to-llvm", "--convert-math-to-libm",
    "--convert-complex-to-standard", "--convert-complex-to-llvm",
    "--finalize-memref-to-llvm", "--convert-index-to-llvm", "--convert-arith-to-llvm",
    "--convert-ub-to-llvm", "--convert-func-to-llvm", "--convert-cf-to-llvm",
    "--reconcile-unrealized-casts"]
# The expansions of arith take either of two zeros for the extreme; LLVM orders them.
EXTREME = re.compile(r"arith\.(maximum|minimum)f (%\w+), (%\w+)( fastmath<\w+>)? : (\w+)")
ELEMENT_BYTES = {"f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2,
                 "i8": 1, "i1": 1, "index": 8, "ui64": 8, "ui32": 4, "ui16": 2, "ui8": 1}


class Unsupported(Exception):
    """Upstream passes cannot lower the program."""


def renamed(text, number):
    """The program's functions under names of their own."""
    text = program_text.without_pins(text, "attributes {llvm.emit_c_interface}")
    # These have no lowering; arrays.rounded says what they are.
    text = re.sub(r"(arith\.truncf %\w+) \w+ :", r"\1 :", text)
    text = program_text.without_signs(text)
    text = program_text.SCATTER.sub(program_text.scatter_as_loops, text)
    text = re.sub(r"@(\w+)", rf"@p{number}_\1", text)
    text = re.sub(r"#([a-z]\w*)(?![\w.])", rf"#p{number}_\1", text)
    head, body = text.split("module {", 1)
    return head + body[:body.rindex("}")]


def build(texts, folder):
    """A shared object of all programs."""
    model, loops, lowered, ir, library = [
        os.path.join(folder, "reference." + end)
        for end in ("mlir", "loops.mlir", "llvm", "ll", "so")]
    with open(model, "w") as file:
        for number, text in texts:
            file.write(renamed(text, number))
    lower([f"{LLVM}/bin/mlir-opt", model, "-o", loops] + LOOPS)
    with open(loops) as file:
        text = EXTREME.sub(r"llvm.intr.\1(\2, \3) : (\5, \5) -> \5", file.read())
    with open(loops, "w") as file:
        file.write(text)
    lower([f"{LLVM}/bin/mlir-opt", loops, "-o", lowered] + TO_LLVM)
    lower([f"{LLVM}/bin/mlir-translate", "--mlir-to-llvmir", lowered, "-o", ir])
    lower([f"{LLVM}/bin/clang", "-O1", "-w", "-shared", "-fPIC", "-x", "ir", ir, "-o", library,
           f"-L{LLVM}/lib", "-lmlir_float16_utils", "-lmlir_c_runner_utils", "-lm",
           f"-Wl,-rpath,{LLVM}/lib", "-fuse-ld=lld"])
    return library


def lower(command):
    """Runs one tool of upstream."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=900)
    if done.returncode:
        raise Unsupported(next((line for line in done.stderr.splitlines()
                                if "error:" in line), done.stderr[-300:]))


def descriptor(data, shape):
    """A memref on these bytes, as C sees it."""
    class MemRef(ctypes.Structure):
        _fields_ = [("allocated", ctypes.c_void_p), ("aligned", ctypes.c_void_p),
                    ("offset", ctypes.c_int64), ("sizes", ctypes.c_int64 * len(shape)),
                    ("strides", ctypes.c_int64 * len(shape))]
    strides = [math.prod(shape[i + 1:]) for i in range(len(shape))]
    at = ctypes.addressof(data)
    return MemRef(at, at, 0, (ctypes.c_int64 * len(shape))(*shape),
                  (ctypes.c_int64 * len(shape))(*strides))


def call(library, number, text, inputs):
    """The bytes of the results."""
    arguments, results = program_text.ports(text)
    buffers = [ctypes.create_string_buffer(data, max(1, len(data)) + 64) for data in inputs]
    sizes = [math.prod(port.shape) * ELEMENT_BYTES[port.element] for port in results]
    buffers += [ctypes.create_string_buffer(size + 64) for size in sizes]
    memrefs = [descriptor(data, port.shape)
               for data, port in zip(buffers, arguments + results)]
    function = getattr(library, f"_mlir_ciface_p{number}_main")
    function.restype = None
    function(*[ctypes.byref(memref) for memref in memrefs])
    return [data.raw[:size] for data, size in zip(buffers[len(arguments):], sizes)]


def keeps_inits(text):
    """Whether an op may have no iteration and results all the same, which are then its
    inits: bufferization forgets them where the body does not read them."""
    empty = re.compile(r"tensor<(\d+x)*0x")
    return any(empty.search(match.group(1)) and not empty.search(match.group(2))
               for match in re.finditer(r"linalg\.\w+.*? ins\((.*?)\) outs\((.*?)\)", text))


def run(texts, inputs, folder):
    """Results of programs [(number, text)]: {number: list of bytes, or the
    reason why there are none}. One that upstream cannot lower costs the others
    nothing but time."""
    # Found at once, not by halving. Bufferization writes over a constant that a
    # switch hands on.
    unknown = {number: match.group() + " has no right lowering" for number, text in texts
               if (match := re.search(r"(?<!m_)tensor\.(gather|scatter)|scf\.index_switch", text))}
    unknown |= {number: "a result of no iteration has no right lowering"
                for number, text in texts if keeps_inits(text)}
    if unknown:
        return unknown | run([entry for entry in texts if entry[0] not in unknown], inputs,
                             folder)
    if not texts:
        return {}
    try:
        path = build(texts, folder)
    except (Unsupported, subprocess.TimeoutExpired) as error:
        if len(texts) == 1:
            return {texts[0][0]: str(error)}
        half = len(texts) // 2
        return run(texts[:half], inputs, folder) | run(texts[half:], inputs, folder)
    answers = called(path, texts, inputs)
    missing = [entry for entry in texts if entry[0] not in answers]
    if missing:  # The first of them ended the process.
        answers[missing[0][0]] = "the reference crashes"
        answers |= run(missing[1:], inputs, folder)
    return answers


def called(path, texts, inputs):
    """The same, in a process that may crash: what it did until then."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        try:
            library = ctypes.CDLL(path)
            with os.fdopen(writer, "wb") as file:
                for number, text in texts:
                    pickle.dump((number, call(library, number, text, inputs[number])), file)
                    file.flush()
        finally:
            os._exit(0)
    os.close(writer)
    answers = {}
    with os.fdopen(reader, "rb") as file:
        while True:
            try:
                number, results = pickle.load(file)
            except (EOFError, pickle.UnpicklingError):
                break
            answers[number] = results
    os.waitpid(child, 0)
    return answers
