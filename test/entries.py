"""Runs the entries of an artifact through the C ABI, every rank on a thread."""

import ctypes
import math
import threading

ARGUMENT, RESULT = 0, 1
FORMATS = {0: "d", 1: "f", 4: "q", 5: "i", 9: "q"}


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 16), ("strides", ctypes.c_int64 * 16),
                ("memory_space", ctypes.c_int32), ("device", ctypes.c_int32)]

    def count(self):
        return math.prod(self.sizes[:self.rank])


class Run:
    """`library` is libtp_runtime.so. All ranks of the artifact; `entries` runs one of them."""

    def __init__(self, library, path):
        self.tp = ctypes.CDLL(library)
        for name in ("tp_artifact_port_name", "tp_artifact_entry_name", "tp_status_message"):
            getattr(self.tp, name).restype = ctypes.c_char_p
        for name in ("tp_artifact_size", "tp_artifact_num_ports", "tp_artifact_num_entries"):
            getattr(self.tp, name).restype = ctypes.c_int64
        for name in ("tp_artifact_open", "tp_transport_threads", "tp_rank_create",
                     "tp_artifact_entry", "tp_rank_entry", "tp_artifact_find_port",
                     "tp_artifact_port", "tp_rank_scatter", "tp_rank_assemble",
                     "tp_rank_submit", "tp_rank_wait", "tp_rank_finish"):
            getattr(self.tp, name).restype = ctypes.c_void_p
        self.artifact = self.made("tp_artifact_open", path.encode())
        transport = self.made("tp_transport_threads", self.artifact)
        size = self.tp.tp_artifact_size(self.artifact)
        self.ranks = [self.made("tp_rank_create", self.artifact, transport, ctypes.c_int64(rank),
                                ctypes.c_int64(size), None) for rank in range(size)]
        count = self.tp.tp_artifact_num_entries(self.artifact)
        self.names = [self.tp.tp_artifact_entry_name(self.artifact, ctypes.c_int64(i)).decode()
                      for i in range(count)]
        self.entries = {name: Entry(self, name) for name in self.names}

    def check(self, status):
        if status:
            raise RuntimeError(self.tp.tp_status_message(ctypes.c_void_p(status)).decode())

    def made(self, function, *arguments):
        """The handle that is the last argument of a function."""
        handle = ctypes.c_void_p()
        self.check(getattr(self.tp, function)(*arguments, ctypes.byref(handle)))
        return handle

    def close(self):
        failures = self.on_all(lambda rank: self.check(self.tp.tp_rank_finish(rank)), self.ranks)
        for rank in self.ranks:
            self.tp.tp_rank_free(rank)
        assert not failures, failures

    @staticmethod
    def on_all(call, ranks):
        failures = []

        def run(rank):
            try:
                call(rank)
            except RuntimeError as error:
                failures.append(str(error))
        threads = [threading.Thread(target=run, args=(rank,)) for rank in ranks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return failures


class Entry:
    """One function of the model, with all ranks."""

    def __init__(self, run, name):
        self.run, self.tp = run, run.tp
        self.artifact = run.made("tp_artifact_entry", run.artifact, name.encode())
        self.ranks = [run.made("tp_rank_entry", rank, name.encode()) for rank in run.ranks]

    def port(self, side, name):
        """The number of a port, and its type."""
        index, port = ctypes.c_int64(), Tensor()
        self.run.check(self.tp.tp_artifact_find_port(self.artifact, side, name.encode(),
                                                     ctypes.byref(index)))
        self.run.check(self.tp.tp_artifact_port(self.artifact, side, index, ctypes.byref(port)))
        return index, port

    def set(self, name, numbers):
        """Gives all ranks their parts of an argument: a list of its elements, row-major. False if
        the program does not use it."""
        index, whole = self.port(ARGUMENT, name)
        data = memoryview(bytearray(whole.count() * 8)).cast("B")
        code = FORMATS[whole.dtype]
        typed = data.cast(code)
        for i, number in enumerate(numbers):
            typed[i] = int(number) if code in "qi" else number
        held = (ctypes.c_char * len(data)).from_buffer(data.obj)
        whole.data = ctypes.addressof(held)
        try:
            for rank in self.ranks:
                self.run.check(self.tp.tp_rank_scatter(rank, self.artifact, index,
                                                       ctypes.byref(whole)))
        except RuntimeError as error:
            if not str(error).endswith("is dead: it has no buffer"):
                raise
            return False
        return True

    def get(self, name):
        """The elements of a result."""
        index, whole = self.port(RESULT, name)
        data = bytearray(max(whole.count(), 1) * 8)
        held = (ctypes.c_char * len(data)).from_buffer(data)
        whole.data = ctypes.addressof(held)
        for rank in self.ranks:
            self.run.check(self.tp.tp_rank_assemble(rank, self.artifact, RESULT, index,
                                                    ctypes.byref(whole)))
        return list(memoryview(data).cast(FORMATS[whole.dtype]))[:whole.count()]

    def step(self):
        """Runs a step on all ranks. Raises RuntimeError with the first failure."""
        def run(rank):
            self.run.check(self.tp.tp_rank_submit(rank, None))
            self.run.check(self.tp.tp_rank_wait(rank))
        failures = self.run.on_all(run, self.ranks)
        if failures:
            raise RuntimeError(failures[0])
