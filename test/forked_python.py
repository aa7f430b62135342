#!/usr/bin/env python3
"""Runs Python scripts in forks of one process that has imported PyTorch, which takes
longer than many a test does.

  forked_python.py --serve SOCKET                         the process, until its stdin ends
  forked_python.py SOCKET PYTHON PACKAGES SCRIPT ARG...   runs PYTHON SCRIPT ARG... there

PACKAGES is `torch` or `transformers`. The script has the caller's arguments, folder,
environment and standard files, and its exit status is the caller's. It runs in a fresh
PYTHON instead where nobody serves, or where the environment says what a process reads
when it starts. lit.cfg.py serves as long as lit runs.
"""
import array
import atexit
import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import threading
import traceback
import types

# Modules that a script would load: to export, or to make a model.
IMPORTS = {
    "torch": ("torch", "torch._dynamo", "torch.export._trace", "torch._functorch.aot_autograd",
              "torch._decomp", "torch_mlir.extras.fx_importer", "torch_mlir.dialects.torch",
              "torch_mlir.passmanager"),
    "transformers": ("transformers", "transformers.modeling_utils", "transformers.cache_utils",
                     "transformers.models.llama.modeling_llama"),
}
# What a process reads when it starts begins with these.
EARLY = ("LD_", "OMP_", "MKL_", "KMP_", "OPENBLAS_", "MALLOC_", "PYTHON", "TORCH")
REFUSED = 255 << 8


def early(environment):
    """What of the environment a process reads when it starts."""
    return {name: value for name, value in environment.items() if name.startswith(EARLY)}


def ask(path, python, packages, words):
    """Runs a script in a fork, or in a process of its own."""
    request = json.dumps({"packages": packages, "words": words, "folder": os.getcwd(),
                          "environment": dict(os.environ)}).encode()
    status = REFUSED
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
        try:
            connection.connect(path)
            files = array.array("i", [0, 1, 2])
            connection.sendmsg([len(request).to_bytes(4, "little")],
                               [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
            connection.sendall(request)
            answer = connection.makefile("rb").read(4)
            status = int.from_bytes(answer, "little") if len(answer) == 4 else 1 << 8
        except (FileNotFoundError, ConnectionRefusedError):
            pass
    if status == REFUSED:
        os.execv(python, [python, "-B", *words])
    code = os.waitstatus_to_exitcode(status)
    sys.exit(128 - code if code < 0 else code)


def receive(connection):
    """A request, and the standard files of who asks."""
    size, ancillary, _, _ = connection.recvmsg(4, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    files = array.array("i")
    for _, _, data in ancillary:
        files.frombytes(data)
    request = connection.makefile("rb").read(int.from_bytes(size, "little"))
    return json.loads(request), list(files)


def become(request, files):
    """Makes this process, a fork, one that runs the script of a request and ends."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    path = request["words"][0]
    sys.argv = request["words"]
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    main = types.ModuleType("__main__")
    main.__file__ = path
    sys.modules["__main__"] = main
    code = 0
    try:
        with open(path, "rb") as file:
            text = compile(file.read(), path, "exec")
        exec(text, main.__dict__)  # pylint: disable=exec-used
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
        if code and not isinstance(end.code, int):
            print(end.code, file=sys.stderr)
    except BaseException:  # pylint: disable=broad-except
        traceback.print_exc()
        code = 1
    finally:
        # As the interpreter ends, without taking apart what the server has made.
        threading._shutdown()  # pylint: disable=protected-access
        atexit._run_exitfuncs()  # pylint: disable=protected-access
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)  # pylint: disable=protected-access


class Server:
    """Forks for each request, and tells who asks how the fork ended."""

    def __init__(self, path):
        self.here = early(os.environ)
        self.imported = set()
        self.selector = selectors.DefaultSelector()
        self.listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listening.bind(path)
        self.listening.listen(64)
        self.selector.register(self.listening, selectors.EVENT_READ, (self.accept, None))
        self.selector.register(0, selectors.EVENT_READ, (self.end, None))
        self.running = {}
        self.request = None

    def serve(self):
        """Serves; in a fork, returns what it is to run."""
        while self.request is None:
            for key, _ in self.selector.select():
                step, argument = key.data
                step(argument)
                if self.request is not None:
                    break
        return self.request

    def accept(self, _):
        connection = self.listening.accept()[0]
        request, files = receive(connection)
        if early(request["environment"]) != self.here:
            connection.sendall(REFUSED.to_bytes(4, "little"))
            connection.close()
        else:
            self.load(request["packages"])
            child = os.fork()
            if child == 0:
                self.leave(connection)
                self.request = request, files
                return
            self.running[child] = connection
            self.selector.register(os.pidfd_open(child), selectors.EVENT_READ, (self.reap, child))
            self.selector.register(connection, selectors.EVENT_READ, (self.kill, child))
        for file in files:
            os.close(file)

    def load(self, packages):
        for name, modules in IMPORTS.items():
            if name not in self.imported:
                self.imported.add(name)
                for module in modules:
                    importlib.import_module(module)
                # Forks need not look at these objects again.
                gc.collect()
                gc.freeze()
            if name == packages:
                return

    def leave(self, connection):
        """Closes what is the server's, in a fork."""
        for key in list(self.selector.get_map().values()):
            if key.fd != 0:
                os.close(key.fd)
        self.selector.close()
        if connection.fileno() >= 0:
            connection.close()
        for other in (self.listening, *self.running.values()):
            other.detach()

    def reap(self, child):
        connection = self.running.pop(child)
        status = os.waitpid(child, 0)[1]
        for key in list(self.selector.get_map().values()):
            if key.data[1] == child:
                self.selector.unregister(key.fileobj)
                if key.data[0] == self.reap:
                    os.close(key.fd)
        try:
            connection.sendall(status.to_bytes(4, "little"))
        except OSError:
            pass
        connection.close()

    def kill(self, child):
        """Who asked is gone."""
        self.selector.unregister(self.running[child])
        os.kill(child, signal.SIGKILL)

    def end(self, _):
        """Nobody will ask again."""
        for child in self.running:
            os.kill(child, signal.SIGKILL)
        path = self.listening.getsockname()
        os.unlink(path)
        os.rmdir(os.path.dirname(path))
        os._exit(0)  # pylint: disable=protected-access


def main():
    if sys.argv[1:] == ["--help"]:
        print(__doc__)
        return
    serves = sys.argv[1:2] == ["--serve"]
    if len(sys.argv) != 3 if serves else len(sys.argv) < 5:
        print(f"{__doc__}\nerror: expected --serve SOCKET, or SOCKET PYTHON PACKAGES "
              f"SCRIPT, got {sys.argv[1:]}", file=sys.stderr)
        sys.exit(2)
    if serves:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        become(*Server(sys.argv[2]).serve())
    else:
        ask(sys.argv[1], sys.argv[2], sys.argv[3], sys.argv[4:])


if __name__ == "__main__":
    main()
