// RUN: tp-opt %s --tp-propagate --verify-diagnostics

// One tensor cannot be partial of two kinds.

#mesh = #tp.mesh<"a" = 2, "b" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<16x8xf32>) -> (tensor<16x8xf32> {tp.name = "y", tp.pin = {a = #tp.placement<partial<sum>>, b = #tp.placement<partial<max>>}}) {
    %e = tensor.empty() : tensor<16x8xf32>
    // expected-note@+1 {{no strategy of 'linalg.exp' fits here}}
    %y = linalg.exp ins(%x : tensor<16x8xf32>) outs(%e : tensor<16x8xf32>) -> tensor<16x8xf32>
    // expected-error@+1 {{result #0 ('y') is pinned to partial<max> on axis 'b', which cannot be met}}
    return %y : tensor<16x8xf32>
  }
}
