#!/usr/bin/env python3
"""Every option of every tool that writes a file, on files of all kinds: a regular file
is replaced, links are followed, devices and FIFOs are written in place, folders, sockets
and the tool's own input are refused.

    outputs.py FAKES [--only=TEXT]

FAKES is the folder of the libraries that stand in for a device's. The table WRITERS is
compared with what the tools' --help lists: an option that is in none of the tables below
is an error. Prints what is wrong and `N of N options write as they should`.
"""
import argparse
import ctypes
import os
import re
import socket
import stat
import subprocess
import sys
import tempfile
import threading

MODEL = """\
func.func @main(%x: tensor<4x6xf32> {tp.name = "x"}) -> (tensor<4x6xf32> {tp.name = "y"}) {
  %e = tensor.empty() : tensor<4x6xf32>
  %y = linalg.exp ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
"""
PLAN = 'tp.plan @p on <"tp" = 2>["tp"] {\n  tp.argument "x" shard<0>\n}\n'
COUNTER = """\
func.func @main(%n: tensor<4xf32> {tp.name = "n", tp.kind = "buffer"}) -> (tensor<4xf32> {tp.name = "next", tp.updates = "n"}) {
  %e = tensor.empty() : tensor<4xf32>
  %m = linalg.exp ins(%n : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32>
  return %m : tensor<4xf32>
}
"""
LIBC = ctypes.CDLL(None)
# Far above what a run takes, on a machine that is busy.
TIME_LIMIT = 120


class Writer:
    """`words` is how the option is used, OUT being the file and FOLDER the file's folder;
    `source` is the file that the tool reads, empty where the option alone cannot know it.
    An option that is given a folder writes the file `name` there; `whole` ones write what is
    complete or absent at every moment."""

    def __init__(self, words, source="model.mlir", name="", suffix="", varies=False, whole=False):
        self.words, self.source, self.name = words.split(), source, name
        self.suffix, self.varies, self.whole = suffix, varies, whole


PLANNED = "tp-compile model.mlir --plan=plan.mlir "
WRITERS = {
    "tp-compile -o": Writer(PLANNED + "-o OUT"),
    "tp-compile --report": Writer(PLANNED + "-o other.tp --report=OUT"),
    "tp-compile --explain": Writer(PLANNED + "--explain=OUT"),
    "tp-compile --write-plan": Writer(
        "tp-compile model.mlir --plan=auto --mesh=tp=2 --write-plan=OUT"),
    "tp-compile --dump-stages": Writer(
        PLANNED + "--dump-stages=FOLDER", name="3-normalize.mlir"),
    "tp-run --output": Writer("tp-run ok.tp --random-data=1 --output=@OUT", "ok.tp",
                              suffix=".npy"),
    "tp-run --output safetensors": Writer(
        "tp-run ok.tp --random-data=1 --output=@OUT", "ok.tp", suffix=".safetensors"),
    "tp-run --sharding": Writer("tp-run ok.tp --sharding=x=@OUT", "ok.tp", suffix=".svg"),
    "tp-run --save-state": Writer("tp-run counter.tp --random-data=1 --save-state=OUT",
                                  "counter.tp", suffix=".safetensors", whole=True),
    "tp-run --trace": Writer("tp-run ok.tp --random-data=1 --trace=OUT", "ok.tp",
                             varies=True),
    "tp-run --time-commands": Writer(
        "tp-run device.tp --random-data=1 --only-rank=0 --skip-collectives "
        "--time-commands=OUT", "device.tp", varies=True),
    "tp-opt -o": Writer("tp-opt model.mlir -o OUT"),
    "tp-opt --pass-times": Writer("tp-opt model.mlir -o other.mlir --cse --pass-times=OUT",
                                  varies=True),
    "tp-opt --tp-apply-plan report": Writer(
        "tp-opt model.mlir -o other.mlir --tp-apply-plan=plan=plan.mlir|report=OUT",
        source=""),
    "tp-opt --tp-write-plan file": Writer(
        "tp-opt model.mlir -o other.mlir --tp-apply-plan=plan=plan.mlir --tp-normalize "
        "--tp-propagate --tp-write-plan=plan=plan.mlir|file=OUT", source=""),
    "tp-opt --tp-interpret directory": Writer(
        "tp-opt interpreted.mlir -o other.mlir --tp-interpret=directory=FOLDER",
        source="", name="result0.bin"),
    "tp-opt --tp-cpu-compile output": Writer(
        "tp-opt model.mlir -o other.mlir --tp-cpu-compile=output=OUT", source=""),
    "tp-opt --tp-cuda-compile host": Writer(
        "tp-opt model.mlir -o other.mlir --tp-cuda-compile=host=OUT", source=""),
    "tp-opt --tp-check-sharding-rules cells": Writer(
        "tp-opt model.mlir -o other.mlir --tp-check-sharding-rules=cells=OUT|ranks=2",
        source=""),
    "tp-reduce -o": Writer("tp-reduce model.mlir -o OUT --cse"),
}
# Options with a value that write nothing.
READERS = {
    "tp-compile": "attention-memory chip compare hardware link memory-limit mesh objective plan "
                  "target target-cpu unroll-limit verify-seed weight-storage what-if",
    "tp-run": "ranks weights input expected-output atol rtol dtype repeat transport timeout "
              "start-timeout random-data only-rank weights-prefix store plan mesh target chip entry "
              "load-state link",
    "tp-opt": "link",
    "tp-reduce": "",
}
# Texts that tp's passes are given and that name no file to write.
PASS_READERS = {
    "tp-apply-plan": "plan mesh what-if", "tp-write-plan": "plan mesh entries recompute",
    "tp-propagate": "objective hardware", "tp-repeat-layers": "passes further",
    "tp-cheapest-assignment": "objective", "tp-partition-pipeline": "plan mesh hardware objective",
    "tp-bucket-collectives": "hardware", "tp-simulate": "reference",
    "tp-cuda-compile": "show chip", "tp-cpu-compile": "show target-cpu",
    "tp-form-attention": "target", "tp-skip-rows": "target", "tp-recompute": "modules",
    "tp-recompute-elements": "target",
    "tp-assign-storage": "target", "tp-form-scatters": "target",
    "tp-form-kernels": "target", "tp-merge-gemms": "target",
    "tp-store-weights": "target type",
    "tp-plan-memory": "target", "tp-update-in-place": "target", "tp-write-parts": "target",
    "tp-schedule": "target",
    "tp-import-shard": "plan mesh",
    "tp-lower-to-mpi": "implementation",
}
# Programs to start, and words for them.
PASS_READERS_ELSEWHERE = {"tp-shrink": "test test-arg"}


def words_of(tool, *more):
    return subprocess.run([tool, "--help", *more], capture_output=True, text=True,
                          check=True, timeout=TIME_LIMIT).stdout


def valued(text):
    """Options of a help text that take a value; passes have spaces of their own."""
    return set(re.findall(r"^  --?([\w-]+)(?:=<| <)", text, re.M))


def unlisted():
    """Options of the tools that no table has."""
    listed = {}
    for name in WRITERS:
        tool, option = name.split(" ", 1)
        listed.setdefault(tool, set()).add(option.lstrip("-"))
    own = {"tp-compile": valued(words_of("tp-compile")),
           "tp-run": set(re.findall(r"--([a-z-]+)=", words_of("tp-run"))),
           "tp-opt": valued(words_of("tp-opt")) - valued(words_of("mlir-opt")) | {"o"},
           "tp-reduce": valued(words_of("tp-reduce")) - valued(words_of("tp-opt")) | {"o"}}
    for tool, options in own.items():
        known = listed.get(tool, set()) | set(READERS[tool].split())
        for option in sorted(options - known):
            yield f"{tool} --{option}"
        # A row for an option that is gone says so too.
        for option in sorted(listed.get(tool, set()) - options):
            if " " not in option:
                yield f"{tool} --{option}, which is gone,"
    pass_name = None
    readers = {**PASS_READERS, **PASS_READERS_ELSEWHERE}
    for tool in ("tp-opt", "tp-reduce"):
        for line in words_of(tool).split("\n"):
            found = re.match(r"( +)--([\w-]+)(=<string>)?", line)
            if not found:
                continue
            indent, name, text = found.groups()
            # An option of a pass stands below it.
            if len(indent) < 8:
                pass_name = name
            elif text and pass_name.startswith("tp-"):
                known = set(readers.get(pass_name, "").split())
                if name not in known and f"{pass_name} {name}" not in listed["tp-opt"]:
                    yield f"{tool} --{pass_name}={name}"


class Case:
    """One option in a folder of its own."""

    def __init__(self, name, writer, inputs, environment):
        self.name, self.writer, self.environment = name, writer, environment
        self.folder = tempfile.TemporaryDirectory()
        self.root = self.folder.name
        os.chmod(self.root, 0o777)
        os.makedirs(self.at("inner/deep"))
        os.symlink("inner/deep", self.at("elsewhere"))
        for file, data in inputs.items():
            with open(self.at(file), "wb") as to:
                to.write(data)

    def at(self, name):
        return os.path.join(self.root, name)

    def file(self, place):
        """The name of the file that the option writes in a folder of the case."""
        name = self.writer.name or "out" + self.writer.suffix
        return os.path.join(place, name)

    def run(self, place, stdout=subprocess.DEVNULL, file=None, before=None):
        """Runs the tool, which writes to the file of a folder."""
        words = [word.replace("OUT", file or self.file(place)).replace("FOLDER", place)
                 .replace("|", " ") for word in self.writer.words]
        return subprocess.run(words, cwd=self.root, stdin=subprocess.DEVNULL,
                              stdout=stdout, stderr=subprocess.PIPE, text=stdout is None,
                              timeout=TIME_LIMIT, env=self.environment,
                              preexec_fn=before)

    def good(self, place, file=None):
        done = self.run(place, file=file)
        if done.returncode:
            raise Wrong(f"exit status {done.returncode}: {done.stderr.decode()}")

    def refused(self, place, message, file=None, before=None):
        done = self.run(place, file=file, before=before)
        said = done.stderr.decode()
        if done.returncode != 1 or message not in said:
            raise Wrong(f"expected exit status 1 and '{message}', got "
                        f"{done.returncode}: {said}")


def obey_permissions():
    """What this process starts obeys the permissions of files, as root too. Another
    user could not reach a checkout in root's own folder."""
    PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1
    if os.geteuid() == 0:
        LIBC.prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)


class Wrong(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Wrong(what)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def kind(path):
    return stat.S_IFMT(os.lstat(path).st_mode)


def link_in(case, name, target):
    os.makedirs(case.at(name))
    os.symlink(target, case.at(case.file(name)))


def make_device(case):
    """A device in a folder of the case; False where this user cannot make one."""
    path = case.at(case.file("device"))
    os.makedirs(case.at("device"))
    try:
        os.mknod(path, stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.close(os.open(path, os.O_WRONLY))
    except OSError:
        return False
    return True


def check_in_place(case, expected, same):
    """What is no regular file is written where it is."""
    at, file = case.at, case.file
    os.makedirs(at("fifo"))
    os.mkfifo(at(file("fifo")))
    got = []
    reader = threading.Thread(target=lambda: got.append(read(at(file("fifo")))), daemon=True)
    reader.start()
    case.good("fifo")
    expect(kind(at(file("fifo"))) == stat.S_IFIFO, "a FIFO is replaced")
    reader.join(TIME_LIMIT)
    expect(got and same(got[0]), "a FIFO's reader does not get the file")
    if make_device(case):
        case.good("device")
        expect(kind(at(file("device"))) == stat.S_IFCHR, "a device is replaced")
    # /dev/stdout is a .npy file too if a link says so.
    link_in(case, "printed", "/dev/stdout")
    done = case.run("printed", stdout=subprocess.PIPE)
    expect(done.returncode == 0 and
           (case.writer.varies or expected in done.stdout), "/dev/stdout gets something else")


def check_replaced(case, _expected, _same):
    """What is no regular file is refused, for it cannot be replaced as a whole."""
    os.makedirs(case.at("fifo"))
    os.mkfifo(case.at(case.file("fifo")))
    link_in(case, "printed", "/dev/stdout")
    places = ["fifo", "printed"] + (["device"] if make_device(case) else [])
    for place in places:
        case.refused(place, "expected a file that is replaced as a whole")
    expect(kind(case.at(case.file("fifo"))) == stat.S_IFIFO, "a FIFO is replaced")


def check(case):
    at, file, writer = case.at, case.file, case.writer
    same = (lambda a: a and a[:1] == expected[:1]) if writer.varies else \
        (lambda a: a == expected)

    case.good("inner")
    expected = read(at(file("inner")))
    expect(expected, "nothing is written")
    before = os.stat(at(file("inner"))).st_ino
    kept = os.open(at(file("inner")), os.O_RDONLY)
    case.good("inner")
    expect(os.stat(at(file("inner"))).st_ino != before, "a file is not replaced whole")
    os.close(kept)

    with open(at("old"), "w") as old:
        old.write("old")
    link_in(case, "linked", "../old")
    case.good("linked")
    expect(kind(at(file("linked"))) == stat.S_IFLNK, "a link is replaced")
    expect(same(read(at("old"))), "the file behind a link is stale")
    link_in(case, "dangling", "../new")
    case.good("dangling")
    expect(kind(at(file("dangling"))) == stat.S_IFLNK, "a dangling link is replaced")
    expect(same(read(at("new"))), "the file that a link names is not made")
    case.good("elsewhere/..")
    expect(same(read(at(file("inner")))), "dir/.. is not what the system takes it for")
    case.good("elsewhere")
    expect(same(read(at(file("inner/deep")))), "a folder's link is not followed")

    (check_replaced if writer.whole else check_in_place)(case, expected, same)
    os.makedirs(at(file("folder")))
    case.refused("folder", "is a folder, expected a file to write")
    os.makedirs(at("socket"))
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(at(file("socket")))
    case.refused("socket", "is a socket, expected a file to write")
    expect(kind(at(file("socket"))) == stat.S_IFSOCK, "a socket is replaced")
    if not writer.name:
        case.refused("no-such-folder", "cannot write: No such file or directory")
    os.makedirs(at("closed"))
    os.chmod(at("closed"), 0o555)
    case.refused("closed", "cannot write: Permission denied", before=obey_permissions)
    expect(os.listdir(at("closed")) == [], "something is left")
    if writer.source:
        inside = read(at(writer.source))
        link_in(case, "input", os.path.join("..", writer.source))
        case.refused("input", "it is read or written too")
        expect(read(at(writer.source)) == inside, "the input is overwritten")


def make_inputs(folder, environment):
    """The files that options read."""
    files = {"model.mlir": MODEL.encode(), "plan.mlir": PLAN.encode(),
             "interpreted.mlir": b'func.func @main() -> tensor<2xf32> {\n'
             b'  %0 = arith.constant dense<1.0> : tensor<2xf32>\n'
             b'  return %0 : tensor<2xf32>\n}\n'}
    files["counter.mlir"] = COUNTER.encode()
    for name in ("model.mlir", "plan.mlir", "counter.mlir"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(files[name])
    planned = ["model.mlir", "--plan=plan.mlir"]
    for name, words in (("ok.tp", planned), ("counter.tp", ["counter.mlir"]),
                        ("device.tp", [*planned, "--target=cuda", "--chip=host"])):
        path = os.path.join(folder, name)
        subprocess.run(["tp-compile", *words, "-o", path], cwd=folder, check=True,
                       timeout=TIME_LIMIT)
        files[name] = read(path)
    return files


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fakes", type=os.path.abspath)
    parser.add_argument("--only", default="", metavar="TEXT")
    options = parser.parse_args()
    missing = list(unlisted())
    for name in missing:
        print(f"{name} is in no table of outputs.py")
    fake = lambda name: os.path.join(options.fakes, f"libtp_fake_{name}.so")
    good = total = 0
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(
            os.environ, TP_CUDA_CACHE=folder, TP_CUDA_DRIVER=fake("cuda"),
            TP_NCCL=fake("nccl"), TP_CUBLASLT=fake("cublaslt"), TP_CUDNN="off")
        inputs = make_inputs(folder, environment)
        for name, writer in WRITERS.items():
            if options.only not in name:
                continue
            total += 1
            try:
                check(Case(name, writer, inputs, environment))
                good += 1
            except (Wrong, subprocess.TimeoutExpired, OSError) as problem:
                print(f"{name}: {problem}", flush=True)
    print(f"{good} of {total} options write as they should")
    return 0 if total and good == total and not missing else 1


if __name__ == "__main__":
    sys.exit(main())
