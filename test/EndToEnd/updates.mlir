// A result with tp.updates is the next value of an argument: both are in one memory, on
// threads and processes, and have one layout. Of the cache no entry says
// anything: it is split as what is added to it is, without a collective.
//
// RUN: split-file %s %t
// RUN: %python %S/Inputs/write_npy.py %t/x.npy=2,4 %t/w.npy=4,8 %t/cache.npy=2,8
// DEFINE: %{data} = --input=x=@%t/x.npy --input=cache=@%t/cache.npy --weights=%t/w.safetensors
// RUN: %python %t/weights.py %t
// RUN: tp-compile %t/step.mlir -o %t/one.tp
// RUN: tp-compile %t/step.mlir --plan=%t/plan.mlir -o %t/two.tp --verify
// RUN: tp-run %t/two.tp --info | FileCheck %s
// RUN: tp-run %t/one.tp %{data} --repeat=3 --output=next=@%t/next.npy --output=count=@%t/count.npy
// RUN: %python %t/check.py %t
// DEFINE: %{same} = %{data} --repeat=3 --expected-output=next=@%t/next.npy --expected-output=count=@%t/count.npy
// RUN: tp-run %t/two.tp %{same}
// RUN: tp-run %t/two.tp %{same} --transport=processes

// Without the updates the third step would give what the first one does.
// RUN: not tp-run %t/two.tp %{data} --expected-output=next=@%t/next.npy --expected-output=count=@%t/count.npy

// What is not fed back is told.
// RUN: tp-compile %t/unfed.mlir -o %t/unfed.tp
// RUN: tp-run %t/unfed.tp --input=2xf32=1 --repeat=2 2>&1 | FileCheck %s --check-prefix=UNFED --match-full-lines
// RUN: tp-run %t/unfed.tp --input=2xf32=1 2>&1 | FileCheck %s --check-prefix=ONCE --match-full-lines
// RUN: tp-run %t/two.tp --random-data=1 --repeat=2 2>&1 | FileCheck %s --check-prefix=RANDOM --match-full-lines
// UNFED: tp-run: note: result 'y' is not fed back: no argument of its name has its shape, dtype and layout; every step has the first one's
// UNFED: y: f32[2], {{.*}}: [2, 2]
// ONCE-NOT: {{.*}} note: {{.*}}
// RANDOM-NOT: {{.*}} note: {{.*}}
// RANDOM: ran 2 steps on 2 ranks

// CHECK: cache {{.*}}shard<1>
// CHECK: count {{.*}}f32[]
// CHECK: next {{.*}}shard<1>{{.*}}updates cache in place
// CHECK: count {{.*}}updates count in place
// CHECK: collectives per step and rank
// CHECK-NEXT: none

//--- plan.mlir
tp.plan @plan on <"tp" = 2>["tp"] {
  tp.argument "w" shard<1>
}

//--- weights.py
import json, pathlib, struct, sys
folder = pathlib.Path(sys.argv[1])
def array(name):
    return (folder / name).read_bytes()[-4 * 32:]
head = json.dumps({"w": {"dtype": "F32", "shape": [4, 8], "data_offsets": [0, 128]},
                   "count": {"dtype": "F32", "shape": [], "data_offsets": [128, 132]}}).encode()
data = struct.pack("<Q", len(head)) + head + array("w.npy") + struct.pack("<f", 5)
(folder / "w.safetensors").write_bytes(data)

//--- check.py
import pathlib, struct, sys
folder = pathlib.Path(sys.argv[1])
def numbers(name, count):
    return struct.unpack(f"<{count}f", (folder / name).read_bytes()[-4 * count:])
x, w = numbers("x.npy", 8), numbers("w.npy", 32)
before, after = numbers("cache.npy", 16), numbers("next.npy", 16)
for i in range(2):
    for j in range(8):
        added = sum(x[4 * i + k] * w[8 * k + j] for k in range(4))
        assert abs(before[8 * i + j] + 3 * added - after[8 * i + j]) < 1e-4, (i, j)
assert numbers("count.npy", 1) == (8,), numbers("count.npy", 1)

//--- step.mlir
func.func @main(%x: tensor<2x4xf32> {tp.name = "x", tp.kind = "user_input"}, %w: tensor<4x8xf32> {tp.name = "w", tp.kind = "parameter"}, %cache: tensor<2x8xf32> {tp.name = "cache", tp.kind = "user_input"}, %count: tensor<f32> {tp.name = "count", tp.kind = "buffer"}) -> (tensor<2x8xf32> {tp.name = "next", tp.updates = "cache"}, tensor<f32> {tp.name = "count", tp.kind = "new_buffer"}) {
  %zero = arith.constant 0.0 : f32
  %one = arith.constant dense<1.0> : tensor<f32>
  %empty = tensor.empty() : tensor<2x8xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2x8xf32>) -> tensor<2x8xf32>
  %y = linalg.matmul ins(%x, %w : tensor<2x4xf32>, tensor<4x8xf32>) outs(%init : tensor<2x8xf32>) -> tensor<2x8xf32>
  %next = arith.addf %cache, %y : tensor<2x8xf32>
  %more = arith.addf %count, %one : tensor<f32>
  return %next, %more : tensor<2x8xf32>, tensor<f32>
}

//--- unfed.mlir
func.func @main(%x: tensor<2xf32> {tp.name = "x"}) -> (tensor<2xf32> {tp.name = "y", tp.kind = "new_user_input"}) {
  %y = arith.addf %x, %x : tensor<2xf32>
  return %y : tensor<2xf32>
}
