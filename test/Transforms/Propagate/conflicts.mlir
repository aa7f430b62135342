// RUN: tp-opt %s -split-input-file --tp-propagate=no-implicit-collectives --verify-diagnostics

// Without implicit collectives only pins may change layouts.

#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(d0, d1) -> (d0, d1)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32>, %z: tensor<16x8xf32>) -> tensor<16x8xf32> {
    // expected-error@+1 {{output of 'a' is pinned to shard<0> on axis 'tp', which cannot hold together with other pins without a collective that no pin asks for}}
    %a = tp.constrain %x on "tp" of #mesh to shard<0> view [16, 8] at "a" "output" : tensor<16x8xf32>
    // expected-note@+1 {{output of 'b' is pinned to shard<1>}}
    %b = tp.constrain %z on "tp" of #mesh to shard<1> view [16, 8] at "b" "output" : tensor<16x8xf32>
    %e = tensor.empty() : tensor<16x8xf32>
    // expected-note@+1 {{no strategy of 'linalg.generic' fits here}}
    %s = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%a, %b : tensor<16x8xf32>, tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) {
    ^bb0(%l: f32, %r: f32, %o: f32):
      %0 = arith.addf %l, %r : f32
      linalg.yield %0 : f32
    } -> tensor<16x8xf32>
    return %s : tensor<16x8xf32>
  }
}

// -----

// A pinned argument that its only use has to gather.

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  // expected-error@+1 {{argument #0 ('w') is pinned to shard<1> on axis 'tp', which cannot be met without a collective that no pin asks for}}
  func.func @main(%w: tensor<8x8xf32> {tp.name = "w", tp.pin = {tp = #tp.placement<shard<1>>}}) -> tensor<8x4xf32> {
    // expected-note@+1 {{no strategy of 'tensor.extract_slice' fits here}}
    %0 = tensor.extract_slice %w[0, 0] [8, 4] [1, 1] : tensor<8x8xf32> to tensor<8x4xf32>
    return %0 : tensor<8x4xf32>
  }
}

// -----

// What pins ask for is allowed: a gather at a constrain, the all_reduce of a
// lazily replicated partial, a pinned result.

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}},
                  %w: tensor<8x8xf32> {tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<16x8xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
    %a = tp.constrain %x on "tp" of #mesh to shard<1> view [16, 8] at "w" "input" : tensor<16x8xf32>
    %zero = arith.constant 0.0 : f32
    %e = tensor.empty() : tensor<16x8xf32>
    %f = linalg.fill ins(%zero : f32) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    %b = linalg.matmul ins(%a, %w : tensor<16x8xf32>, tensor<8x8xf32>) outs(%f : tensor<16x8xf32>) -> tensor<16x8xf32>
    %c = tp.constrain %b on "tp" of #mesh to replicate view [16, 8] lazy at "w" "output" : tensor<16x8xf32>
    return %c : tensor<16x8xf32>
  }
}
