// RUN: split-file %s %t
// RUN: tp-opt %t/pair.mlir --tp-propagate --tp-verify-assignment | FileCheck %s --check-prefix=PAIR
// RUN: tp-opt %t/update.mlir --tp-propagate --tp-verify-assignment | FileCheck %s --check-prefix=UPDATE
// RUN: tp-opt %t/vector.mlir --tp-propagate --tp-verify-assignment | FileCheck %s --check-prefix=VECTOR
// RUN: not tp-opt %t/nobody.mlir --tp-propagate 2>&1 | FileCheck %s --check-prefix=NOBODY
// RUN: not tp-opt %t/pinned.mlir --tp-propagate 2>&1 | FileCheck %s --check-prefix=PINNED

// Weights that have to be shards become a column and a row: one reduction.
// PAIR: tensor<8x32xf32> {tp.kind = "parameter", tp.layout = #tp.layout<#mesh, [shard<1>]>
// PAIR: tensor<32x8xf32> {tp.kind = "parameter", tp.layout = #tp.layout<#mesh, [shard<0>]>

// A state, and what becomes of it, lie as the parameter does: alone they would
// be shards, which are less to hold and to add.
// UPDATE: tp.kind = "parameter", tp.layout = #tp.layout<#mesh, [replicate]>
// UPDATE-SAME: tp.kind = "opt_m", tp.layout = #tp.layout<#mesh, [replicate]>
// UPDATE-SAME: tp.kind = "new_parameter", tp.layout = #tp.layout<#mesh, [replicate]>

// A vector is replicated where a shard would be gathered.
// VECTOR: tensor<8xf32> {tp.kind = "parameter", tp.layout = #tp.layout<#mesh, [replicate]>

// NOBODY: nobody.mlir:3:{{[0-9]+}}: error: argument #0 ('w') is pinned 'as_parameter', expected a parameter of its name and shape that is pinned 'sharded', 'any' or 'fully_sharded'
// PINNED: pinned.mlir:3:{{[0-9]+}}: error: argument #1 ('w') is pinned 'as_parameter', expected a parameter of its name and shape that is pinned 'sharded', 'any' or 'fully_sharded'

//--- pair.mlir
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32> {tp.kind = "user_input"}, %w: tensor<8x32xf32> {tp.kind = "parameter", tp.pin = {tp = "sharded"}}, %v: tensor<32x8xf32> {tp.kind = "parameter", tp.pin = {tp = "sharded"}}) -> (tensor<16x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x32xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x32xf32>) -> tensor<16x32xf32>
    %a = linalg.matmul ins(%x, %w : tensor<16x8xf32>, tensor<8x32xf32>) outs(%f : tensor<16x32xf32>) -> tensor<16x32xf32>
    %e1 = tensor.empty() : tensor<16x32xf32>
    %g = linalg.exp ins(%a : tensor<16x32xf32>) outs(%e1 : tensor<16x32xf32>) -> tensor<16x32xf32>
    %e2 = tensor.empty() : tensor<16x8xf32>
    %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<16x8xf32>) -> tensor<16x8xf32>
    %b = linalg.matmul ins(%g, %v : tensor<16x32xf32>, tensor<32x8xf32>) outs(%f2 : tensor<16x8xf32>) -> tensor<16x8xf32>
    return %b : tensor<16x8xf32>
  }
}
//--- update.mlir
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%w: tensor<8x32xf32> {tp.kind = "parameter", tp.name = "w", tp.pin = {tp = "any"}}, %m: tensor<8x32xf32> {tp.kind = "opt_m", tp.name = "w", tp.pin = {tp = "as_parameter"}}) -> (tensor<8x32xf32> {tp.pin = {tp = #tp.placement<replicate>}}, tensor<8x32xf32> {tp.kind = "new_parameter", tp.name = "w", tp.pin = {tp = "as_parameter"}}) {
    %e = tensor.empty() : tensor<8x32xf32>
    %y = linalg.exp ins(%w : tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
    %a = linalg.add ins(%w, %m : tensor<8x32xf32>, tensor<8x32xf32>) outs(%e : tensor<8x32xf32>) -> tensor<8x32xf32>
    return %y, %a : tensor<8x32xf32>, tensor<8x32xf32>
  }
}
//--- vector.mlir
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<8xf32> {tp.kind = "user_input"}, %w: tensor<8xf32> {tp.kind = "parameter", tp.pin = {tp = "any"}}) -> (tensor<8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %e = tensor.empty() : tensor<8xf32>
    %a = linalg.add ins(%x, %w : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) -> tensor<8xf32>
    return %a : tensor<8xf32>
  }
}
//--- nobody.mlir
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%m: tensor<8xf32> {tp.kind = "opt_m", tp.name = "w", tp.pin = {tp = "as_parameter"}}) -> tensor<8xf32> {
    return %m : tensor<8xf32>
  }
}
//--- pinned.mlir
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%w: tensor<8xf32> {tp.kind = "parameter", tp.name = "w", tp.pin = {tp = #tp.placement<shard<0>>}}, %m: tensor<8xf32> {tp.kind = "opt_m", tp.name = "w", tp.pin = {tp = "as_parameter"}}) -> tensor<8xf32> {
    return %m : tensor<8xf32>
  }
}
