// RUN: split-file %s %t
// DEFINE: %{rows} = 1
// DEFINE: %{columns} = 1
// DEFINE: %{propagate} = sed 's/ROWS/%{rows}/; s/COLUMNS/%{columns}/' %t/calls.mlir | tp-opt --tp-propagate --tp-verify-assignment
// RUN: %{propagate} | FileCheck %s --check-prefix=FIRST
// REDEFINE: %{columns} = 2
// RUN: %{propagate} | FileCheck %s --check-prefix=SECOND
// REDEFINE: %{rows} = 2
// RUN: %{propagate} | FileCheck %s --check-prefix=FIRST
// REDEFINE: %{rows} = 500
// REDEFINE: %{columns} = 1000
// RUN: %{propagate} | FileCheck %s --check-prefix=SECOND
// RUN: tp-opt %t/state.mlir --tp-propagate --tp-verify-assignment | FileCheck %s --check-prefix=STATE
// RUN: not tp-opt %t/unequal.mlir --tp-verify-assignment 2>&1 | FileCheck %s --check-prefix=UNEQUAL
// RUN: not tp-opt %t/pins.mlir --tp-propagate 2>&1 | FileCheck %s --check-prefix=PINS

// A weight of two entries has one layout. @rows wants its rows on the ranks,
// @columns its columns: the one that runs more often gets what it wants, and of
// two that run equally often the one that loses more.
// FIRST: func.func @rows
// FIRST-SAME: tp.layout = #tp.layout<#mesh, [shard<0>]>, tp.name = "w"
// FIRST: func.func @columns
// FIRST-SAME: tp.layout = #tp.layout<#mesh, [shard<0>]>, tp.name = "w"
// SECOND: func.func @rows
// SECOND-SAME: tp.layout = #tp.layout<#mesh, [shard<1>]>, tp.name = "w"
// SECOND: func.func @columns
// SECOND-SAME: tp.layout = #tp.layout<#mesh, [shard<1>]>, tp.name = "w"

// A state that one entry updates and the other reads.
// STATE: func.func @write
// STATE-SAME: tp.layout = #tp.layout<#mesh, [shard<0>]>, tp.name = "s"
// STATE-SAME: -> (tensor<8x8xf32> {tp.layout = #tp.layout<#mesh, [shard<0>]>, tp.name = "next"
// STATE: func.func @read
// STATE-SAME: tp.layout = #tp.layout<#mesh, [shard<0>]>, tp.name = "s"

// UNEQUAL: unequal.mlir:6:{{[0-9]+}}: error: argument #0 of 'second' has layout #tp.layout<<"tp" = 4>, [replicate]>, in 'first' it has #tp.layout<<"tp" = 4>, [shard<0>]>: expected one, as entries share it

// PINS: pins.mlir:6:{{[0-9]+}}: error: argument #0 ('w') of @second has another pin than in @first, expected one, as entries share it
// PINS: pins.mlir:3:{{[0-9]+}}: note: the other pin is here

//--- calls.mlir
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @rows(%x: tensor<16x8xf32> {tp.name = "x", tp.kind = "user_input"},
      %v: tensor<8x64xf32> {tp.name = "v", tp.kind = "parameter", tp.pin = {tp = #tp.placement<shard<1>>}},
      %w: tensor<64x16xf32> {tp.name = "w", tp.kind = "parameter", tp.pin = {tp = "sharded"}})
      -> (tensor<16x16xf32> {tp.name = "y", tp.pin = {tp = #tp.placement<replicate>}}) attributes {tp.calls = ROWS : i64} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x64xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x64xf32>) -> tensor<16x64xf32>
    %a = linalg.matmul ins(%x, %v : tensor<16x8xf32>, tensor<8x64xf32>) outs(%f : tensor<16x64xf32>) -> tensor<16x64xf32>
    %e1 = tensor.empty() : tensor<16x16xf32>
    %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    %y = linalg.matmul ins(%a, %w : tensor<16x64xf32>, tensor<64x16xf32>) outs(%f1 : tensor<16x16xf32>) -> tensor<16x16xf32>
    return %y : tensor<16x16xf32>
  }
  func.func @columns(%x: tensor<16x64xf32> {tp.name = "x", tp.kind = "user_input"},
      %w: tensor<64x16xf32> {tp.name = "w", tp.kind = "parameter", tp.pin = {tp = "sharded"}})
      -> (tensor<16x16xf32> {tp.name = "y", tp.pin = {tp = #tp.placement<shard<1>>}}) attributes {tp.calls = COLUMNS : i64} {
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x16xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x16xf32>) -> tensor<16x16xf32>
    %y = linalg.matmul ins(%x, %w : tensor<16x64xf32>, tensor<64x16xf32>) outs(%f : tensor<16x16xf32>) -> tensor<16x16xf32>
    return %y : tensor<16x16xf32>
  }
}
//--- state.mlir
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @write(%x: tensor<8x8xf32> {tp.name = "x", tp.kind = "user_input", tp.pin = {tp = #tp.placement<shard<0>>}},
      %s: tensor<8x8xf32> {tp.name = "s", tp.kind = "buffer", tp.pin = {tp = "any"}})
      -> (tensor<8x8xf32> {tp.name = "next", tp.updates = "s"}) {
    %e = tensor.empty() : tensor<8x8xf32>
    %y = linalg.add ins(%x, %s : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    return %y : tensor<8x8xf32>
  }
  func.func @read(%s: tensor<8x8xf32> {tp.name = "s", tp.kind = "buffer", tp.pin = {tp = "any"}})
      -> (tensor<8x8xf32> {tp.name = "y", tp.pin = {tp = #tp.placement<shard<0>>}}) {
    %e = tensor.empty() : tensor<8x8xf32>
    %y = linalg.exp ins(%s : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
    return %y : tensor<8x8xf32>
  }
}
//--- unequal.mlir
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @first(%w: tensor<8xf32> {tp.kind = "parameter", tp.name = "w", tp.layout = #tp.layout<#mesh, [shard<0>]>}) {
    return
  }
  func.func @second(%w: tensor<8xf32> {tp.kind = "parameter", tp.name = "w", tp.layout = #tp.layout<#mesh, [replicate]>}) {
    return
  }
}
//--- pins.mlir
#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @first(%w: tensor<8xf32> {tp.kind = "parameter", tp.name = "w", tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<8xf32> {
    return %w : tensor<8xf32>
  }
  func.func @second(%w: tensor<8xf32> {tp.kind = "parameter", tp.name = "w", tp.pin = {tp = #tp.placement<replicate>}}) -> tensor<8xf32> {
    return %w : tensor<8xf32>
  }
}
