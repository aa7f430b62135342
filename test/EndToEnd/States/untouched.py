"""Steps that write one row of a cache: of the others no element is stored.

    untouched.py LIBRARY FOLDER [INSERTED]

Rows lie on pages of their own. For a step all pages of the cache but the row's are read only,
on every rank: a store to another element, of whatever value, ends the process. The manifest
states the same bytes for caches of any length.
"""

import ctypes
import json
import mmap
import os
import subprocess
import sys
import threading

LIBRARY, FOLDER = sys.argv[1:3]
ROWS, COLUMNS = 24, mmap.PAGESIZE // 4

HEAD = """
func.func @main(%x: tensor<{n}xf32> {{tp.name = "x", tp.kind = "user_input"}},
                %at: tensor<i64> {{tp.name = "at", tp.kind = "user_input"}},
                %c: tensor<{m}x{n}xf32> {{tp.name = "c", tp.kind = "buffer"}})
    -> (tensor<{m}xf32> {{tp.name = "y"}},
        tensor<{m}x{n}xf32> {{tp.name = "c", tp.kind = "new_buffer"}}) {{
"""
SELECT = """
  %e = tensor.empty() : tensor<{m}x{n}xf32>
  %new = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d1)>, affine_map<(d0, d1) -> ()>,
      affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>],
      iterator_types = ["parallel", "parallel"]}}
      ins(%x, %at, %c : tensor<{n}xf32>, tensor<i64>, tensor<{m}x{n}xf32>)
      outs(%e : tensor<{m}x{n}xf32>) {{
  ^bb0(%a: f32, %p: i64, %old: f32, %o: f32):
    %i = linalg.index 0 : index
    %j = arith.index_cast %i : index to i64
    %h = arith.cmpi eq, %j, %p : i64
    %s = arith.select %h, %a, %old : f32
    linalg.yield %s : f32
  }} -> tensor<{m}x{n}xf32>
"""
INSERT = """
  %p = tensor.extract %at[] : tensor<i64>
  %i = arith.index_cast %p : i64 to index
  %new = tensor.insert_slice %x into %c[%i, 0] [1, {n}] [1, 1]
      : tensor<{n}xf32> into tensor<{m}x{n}xf32>
"""
# The new cache is read as a whole.
REST = """
  %zero = arith.constant 0.0 : f32
  %f = tensor.empty() : tensor<{m}xf32>
  %init = linalg.fill ins(%zero : f32) outs(%f : tensor<{m}xf32>) -> tensor<{m}xf32>
  %y = linalg.generic {{indexing_maps = [affine_map<(d0, d1) -> (d0, d1)>,
      affine_map<(d0, d1) -> (d0)>], iterator_types = ["parallel", "reduction"]}}
      ins(%new : tensor<{m}x{n}xf32>) outs(%init : tensor<{m}xf32>) {{
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  }} -> tensor<{m}xf32>
  return %y, %new : tensor<{m}xf32>, tensor<{m}x{n}xf32>
}}
"""


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32),
                ("sizes", ctypes.c_int64 * 16), ("strides", ctypes.c_int64 * 16),
                ("space", ctypes.c_int32), ("device", ctypes.c_int32)]


tp = ctypes.CDLL(LIBRARY)
tp.tp_status_message.restype = ctypes.c_char_p
libc = ctypes.CDLL(None, use_errno=True)
handle = ctypes.c_void_p


def check(status):
    if status:
        raise SystemExit(tp.tp_status_message(handle(status)).decode())


for name in ("artifact_open", "transport_threads", "rank_create", "rank_argument",
             "rank_mark_set", "rank_submit", "rank_wait"):
    getattr(tp, "tp_" + name).restype = handle


def compiled(name, text, ranks, rows):
    """The artifact of a cache with so many rows, sharded over the ranks."""
    path = os.path.join(FOLDER, f"{name}-{ranks}-{rows}")
    with open(path + ".mlir", "w") as file:
        file.write((HEAD + text + REST).format(m=rows, n=COLUMNS))
    with open(path + ".plan.mlir", "w") as file:
        dim = 0 if text is SELECT else 1
        file.write(f'tp.plan @p on <"tp" = {ranks}>["tp"] {{ tp.argument "c" shard<{dim}> }}')
    subprocess.run(["tp-compile", path + ".mlir", f"--plan={path}.plan.mlir", "-o", path + ".tp"],
                   check=True)
    manifest = json.loads(subprocess.run(["tp-run", path + ".tp", "--info", "--json"],
                                         check=True, capture_output=True, text=True).stdout)
    update, = (r for r in manifest["entries"][0]["results"] if "updates" in r)
    return path + ".tp", update


def floats(tensor):
    size = 1
    for n in tensor.sizes[:tensor.rank]:
        size *= n
    return (ctypes.c_float * size).from_address(tensor.data)


class Rank:
    def __init__(self, artifact, transport, number, size):
        self.handle, self.number = handle(), number
        check(tp.tp_rank_create(artifact, transport, ctypes.c_int64(number), ctypes.c_int64(size),
                                None, ctypes.byref(self.handle)))

    def view(self, call, index):
        tensor = Tensor()
        check(call(self.handle, ctypes.c_int64(index), ctypes.byref(tensor)))
        return tensor

    def step(self):
        check(tp.tp_rank_submit(self.handle, None))
        check(tp.tp_rank_wait(self.handle))


def pages(tensor, first, last, protection):
    """Protects rows of a rank's cache whose pages they have alone."""
    row = tensor.sizes[1] * 4
    begin = -(-(tensor.data + first * row) // mmap.PAGESIZE) * mmap.PAGESIZE
    end = (tensor.data + last * row) // mmap.PAGESIZE * mmap.PAGESIZE
    if end > begin and libc.mprotect(handle(begin), ctypes.c_size_t(end - begin), protection):
        raise SystemExit(f"mprotect: {os.strerror(ctypes.get_errno())}")


def run(path, ranks):
    artifact, transport = handle(), handle()
    check(tp.tp_artifact_open(path.encode(), ctypes.byref(artifact)))
    check(tp.tp_transport_threads(artifact, ctypes.byref(transport)))
    all_ranks = [Rank(artifact, transport, r, ranks) for r in range(ranks)]
    # In the order of the function's arguments.
    for rank in all_ranks:
        x, at, rank.cache = (rank.view(tp.tp_rank_argument, i) for i in range(3))
        rank.x, rank.at = floats(x), ctypes.c_int64.from_address(at.data)
        floats(rank.cache)[:] = [1.0] * len(floats(rank.cache))
        for i in range(3):
            check(tp.tp_rank_mark_set(rank.handle, ctypes.c_int64(i)))
    rows = all_ranks[0].cache.sizes[0]
    isSharded = rows != ROWS
    for step, place in enumerate((5, 0, ROWS - 1, 5)):
        for rank in all_ranks:
            rank.x[:] = [step + 2.0] * len(rank.x)
            rank.at.value = place
            own = place - rank.number * rows if isSharded else place
            own = own if 0 <= own < rows else rows
            pages(rank.cache, 0, own, mmap.PROT_READ)
            pages(rank.cache, own + 1, rows, mmap.PROT_READ)
        threads = [threading.Thread(target=rank.step) for rank in all_ranks]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for rank in all_ranks:
            pages(rank.cache, 0, rows, mmap.PROT_READ | mmap.PROT_WRITE)
            columns = rank.cache.sizes[1]
            own = place - rank.number * rows if isSharded else place
            if 0 <= own < rows:
                got = floats(rank.cache)[own * columns:(own + 1) * columns]
                assert set(got) == {step + 2.0}, (step, rank.number, set(got))
    for rank in all_ranks:
        columns, first = rank.cache.sizes[1], rank.number * rows if isSharded else 0
        for row in range(rows):
            value = {5: 5.0, 0: 3.0, ROWS - 1: 4.0}.get(first + row, 1.0)
            got = set(floats(rank.cache)[row * columns:(row + 1) * columns])
            assert got == {value}, (rank.number, row, got)


def main():
    os.makedirs(FOLDER, exist_ok=True)
    for name, text in (("select", SELECT), ("insert", INSERT)):
        for ranks in (1, 2):
            path, update = compiled(name, text, ranks, ROWS)
            _, longer = compiled(name, text, ranks, 100 * ROWS)
            assert update["in_place"], update
            columns = COLUMNS // (1 if text is SELECT else ranks)
            assert update["written_bytes"] == longer["written_bytes"] == 4 * columns, (
                update, longer)
            run(path, ranks)
    print("nothing but the rows was written")


main()
