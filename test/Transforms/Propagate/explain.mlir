// RUN: tp-opt %s --tp-propagate='explain remarks' --tp-materialize 2>%t | FileCheck %s
// RUN: FileCheck %s --check-prefix=REMARK --input-file=%t
// RUN: tp-opt %s --tp-propagate='explain explain-limit=0' | FileCheck %s --check-prefix=LIMIT

// An all_gather that a pin asks for, and the choice of gathering later what is
// made of it.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh, tp.bindings = [{at = "plan.mlir:3:3", axis = "tp", entry = "x", module = "", status = "bound", style = "argument", values = [{port = "argument", loc = "x", dims = array<i64: 16, 8>, layout = "shard<0>"}]}]} {
  // LIMIT: next_best = "not tried"
  func.func @main(%x: tensor<16x8xf32> {tp.name = "x", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<16x8xf32> {tp.name = "y", tp.pin = {tp = #tp.placement<replicate>}}) {
    %e = tensor.empty() : tensor<16x8xf32>
    %y = linalg.exp ins(%x : tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    return %y : tensor<16x8xf32>
  }
}

// CHECK-NOT: tp.causes
// CHECK: tp.redistribute {{.*}}tp.cause = {changes = [{axis = "tp", from = "shard<0>",
// CHECK-SAME: next_best = {more_with = 0 : i64, more_without = 0 : i64, ring_bytes_per_rank = 0 : i64,
// CHECK-SAME: with = [{axis = "tp", from = "shard<0>", kind = "all_gather", of = "x", ring_bytes_per_rank = 256 : i64, to = "replicate"}],
// CHECK-SAME: without = [{axis = "tp", from = "shard<0>", kind = "all_gather", of = #loc, ring_bytes_per_rank = 256 : i64, to = "replicate"}]}
// CHECK-SAME: pins = [{layout = "replicate", name = "y", what = "result"}, {entry = "plan.mlir:3:3", layout = "shard<0>", name = "x", what = "argument"}]
// CHECK-SAME: to = #tp.placement<replicate>}], uses = [{name = "y", what = "result"}]}
// CHECK-NOT: tp.causes

// REMARK: remark: all_gather of what 'linalg.exp' makes on axis 'tp', 256 bytes per rank: the next best choice has +0 bytes and +
// REMARK: note: with all_gather of what argument #0 ('x') makes on axis 'tp', shard<0> to replicate, 256 bytes per rank
// REMARK: note: without all_gather of what 'linalg.exp' makes on axis 'tp', shard<0> to replicate, 256 bytes per rank
