// RUN: tp-opt %s --split-input-file --verify-diagnostics --tp-cuda-compile=show=lowered

func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> { // expected-error {{the CUDA target needs static shapes, got 'tensor<?x4xf32>'}}
  return %x : tensor<?x4xf32>
}

// -----

func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %e = tensor.empty() : tensor<4xf64>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) {
  ^bb0(%a: f64, %o: f64):
    // expected-error @below {{'math.sin' on 'f64' is not handled by the CUDA target: no function of the device computes it}}
    %s = math.sin %a : f64
    linalg.yield %s : f64
  } -> tensor<4xf64>
  return %y : tensor<4xf64>
}

// -----

// The op inside a named op has no location of its own.
func.func @main(%x: tensor<4xf64>) -> tensor<4xf64> {
  %e = tensor.empty() : tensor<4xf64>
  // expected-error @below {{'math.tanh' on 'f64' is not handled by the CUDA target: no function of the device computes it}}
  %y = linalg.tanh ins(%x : tensor<4xf64>) outs(%e : tensor<4xf64>) -> tensor<4xf64>
  return %y : tensor<4xf64>
}
