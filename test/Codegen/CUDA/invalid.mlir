// RUN: tp-opt %s --split-input-file --verify-diagnostics --tp-cuda-compile=show=lowered

func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> { // expected-error {{the CUDA target needs static shapes, got 'tensor<?x4xf32>'}}
  return %x : tensor<?x4xf32>
}
