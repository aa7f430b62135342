// What is sent is what is smallest on its way: narrowed, added, cut and reduced
// values are gathered, not what they are made from. The type of a collective
// tells its bytes.
// RUN: tp-opt %s -split-input-file --tp-legalize --tp-normalize --tp-propagate --tp-materialize --tp-insert-collectives | FileCheck %s

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @cast(
  // CHECK-NOT: tp.all_gather
  // CHECK: arith.truncf
  // CHECK: tp.all_gather {{.*}} : tensor<64x32xbf16, {{.*}} -> tensor<64x32xbf16, #
  // CHECK-NOT: tp.all_gather
  func.func @cast(%x: tensor<64x32xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<64x32xbf16> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %y = arith.truncf %x : tensor<64x32xf32> to tensor<64x32xbf16>
    return %y : tensor<64x32xbf16>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @cast_for_matmul(
  // CHECK-NOT: tp.all_gather
  // CHECK: arith.truncf
  // CHECK: tp.all_gather {{.*}} : tensor<64x32xbf16, {{.*}} -> tensor<64x32xbf16, #
  // CHECK-NOT: tp.all_gather
  func.func @cast_for_matmul(%a: tensor<256x64xbf16> {tp.pin = {tp = #tp.placement<shard<0>>}}, %x: tensor<64x32xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<256x32xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) {
    %y = arith.truncf %x : tensor<64x32xf32> to tensor<64x32xbf16>
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<256x32xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<256x32xf32>) -> tensor<256x32xf32>
    %r = linalg.matmul ins(%a, %y : tensor<256x64xbf16>, tensor<64x32xbf16>) outs(%f : tensor<256x32xf32>) -> tensor<256x32xf32>
    return %r : tensor<256x32xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  // One gather of the sum, not two of what is added.
  // CHECK-LABEL: func.func @sum_of_two(
  // CHECK-NOT: tp.all_gather
  // CHECK: arith.addf
  // CHECK: tp.all_gather
  // CHECK-NOT: tp.all_gather
  func.func @sum_of_two(%x: tensor<64x32xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}, %y: tensor<64x32xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<64x32xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %s = arith.addf %x, %y : tensor<64x32xf32>
    return %s : tensor<64x32xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @slice(
  // CHECK: tp.all_gather {{.*}} -> tensor<64x4xf32, #
  // CHECK-NOT: tp.all_gather
  func.func @slice(%x: tensor<64x32xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<64x4xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %s = tensor.extract_slice %x[0, 0] [64, 4] [1, 1] : tensor<64x32xf32> to tensor<64x4xf32>
    return %s : tensor<64x4xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @reduction(
  // CHECK: tp.all_gather {{.*}} -> tensor<64xf32, #
  // CHECK-NOT: tp.all_gather
  func.func @reduction(%x: tensor<64x32xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<64xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
    %r = linalg.reduce ins(%x : tensor<64x32xf32>) outs(%f : tensor<64xf32>) dimensions = [1]
      (%in: f32, %out: f32) {
        %a = arith.addf %in, %out : f32
        linalg.yield %a : f32
      }
    return %r : tensor<64xf32>
  }
}

// -----

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  // The matrix is the same in all rounds: one gather for three products.
  // CHECK-LABEL: func.func @loop(
  // CHECK-COUNT-1: tp.all_gather
  // CHECK-NOT: tp.all_gather
  // CHECK-NOT: tp.all_reduce
  // CHECK: return
  func.func @loop(%w: tensor<32x32xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}, %i: tensor<64x32xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<64x32xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %z = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<64x32xf32>
    %f = linalg.fill ins(%z : f32) outs(%e : tensor<64x32xf32>) -> tensor<64x32xf32>
    %r = scf.for %k = %c0 to %c3 step %c1 iter_args(%acc = %i) -> tensor<64x32xf32> {
      %v = math.exp %w : tensor<32x32xf32>
      %m = linalg.matmul ins(%acc, %v : tensor<64x32xf32>, tensor<32x32xf32>) outs(%f : tensor<64x32xf32>) -> tensor<64x32xf32>
      %t = math.tanh %m : tensor<64x32xf32>
      scf.yield %t : tensor<64x32xf32>
    }
    return %r : tensor<64x32xf32>
  }
}
