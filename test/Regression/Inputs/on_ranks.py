"""Runs a program on 1, 2 and 3 ranks, on the CPU and on devices that are the host, and
compares its results with numbers that a test has computed."""

import os
import struct
import subprocess
import sys

# .npy spelling, struct code.
TYPES = {"f64": ("<f8", "d"), "f32": ("<f4", "f"), "i64": ("<i8", "q"), "i32": ("<i4", "i"),
         "i16": ("<i2", "h"), "i8": ("|i1", "b"), "u64": ("<u8", "Q"), "u32": ("<u4", "I"),
         "u16": ("<u2", "H"), "u8": ("|u1", "B"), "i1": ("|b1", "?")}


def write_npy(path, dtype, shape, numbers):
    descr, code = TYPES[dtype]
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header = header.ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() +
                   struct.pack(f"<{len(numbers)}{code}", *numbers))


def execute(command, environment):
    done = subprocess.run(command, capture_output=True, text=True, env=environment,
                          timeout=300)
    return done.returncode, done.stdout + done.stderr


class Programs:
    """`folder` is for files, `fakes` has the libraries that stand for a device's."""

    def __init__(self, folder, fakes):
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        fake = lambda name: os.path.join(fakes, f"libtp_fake_{name}.so")
        self.device = dict(os.environ, TP_CUDA_CACHE=folder, TP_CUDA_DRIVER=fake("cuda"),
                           TP_NCCL=fake("nccl"), TP_CUBLASLT=fake("cublaslt"), TP_CUDNN="off")
        self.failures = 0

    def check(self, name, model, inputs, expected, ranks=(1, 2, 3), fails=None, verify=True):
        """`RANKS` in the model stands for their number. Inputs and expected results are
        (dtype, shape, numbers) by name. `fails`: what the step has to end with. `verify`:
        whether the simulator's own data is good for the program."""
        path = lambda end: os.path.join(self.folder, f"{name}-{end}")
        options = []
        for side, ports in (("input", inputs), ("expected-output", expected)):
            for port, array in ports.items():
                write_npy(path(f"{port}.npy"), *array)
                options.append(f"--{side}={port}=@{path(f'{port}.npy')}")
        for target, flags, environment in (
                ("cpu", [], None), ("cuda", ["--target=cuda", "--chip=host"], self.device)):
            for number in ranks:
                source, artifact = path(f"{number}.mlir"), path(f"{number}-{target}.tp")
                with open(source, "w") as file:
                    file.write(model.replace("RANKS", str(number)))
                code, text = execute(["tp-compile", source, "-o", artifact, *flags] +
                                     ["--verify"] * verify, environment)
                if code == 0:
                    code, text = execute(
                        ["tp-run", artifact, f"--ranks={number}", "--poison", "--atol=0",
                         "--rtol=0", *options], environment)
                if (fails not in text or code == 0) if fails else code:
                    self.failures += 1
                    print(f"{name} on {number} ranks, {target}: {text[:1000]}")
        print(f"{name}: checked")

    def finish(self):
        sys.exit(self.failures != 0)
