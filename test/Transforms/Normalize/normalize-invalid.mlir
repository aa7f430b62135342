// RUN: tp-opt %s --tp-normalize --split-input-file --verify-diagnostics

// expected-error@+1 {{expected tensors of static shape, got 'tensor<?x7xf32>'}}
func.func @dynamic(%x: tensor<?x7xf32>) -> tensor<?x7xf32> {
  return %x : tensor<?x7xf32>
}

// -----

// expected-error@+1 {{expected tensors of static shape, got 'memref<7xf32>'}}
func.func @memref(%x: memref<7xf32>) {
  return
}

// -----

func.func @empty(%x: tensor<0x7xf32>) -> tensor<0x7xf32> {
  %e = tensor.empty() : tensor<0x7xf32>
  // expected-error@+1 {{expected tensors with elements, got 'tensor<0x7xf32>'}}
  %y = linalg.exp ins(%x : tensor<0x7xf32>) outs(%e : tensor<0x7xf32>) -> tensor<0x7xf32>
  return %y : tensor<0x7xf32>
}

// -----

// expected-error@+1 {{expected tensors without layout, got}}
func.func @layout(%x: tensor<8xf32, #tp.layout<<"tp" = 2>, [shard<0>]>>) {
  return
}

// -----

// expected-error@+1 {{expected a function of one block, got 2}}
func.func @blocks(%x: tensor<8xf32>) -> tensor<8xf32> {
  cf.br ^bb1
^bb1:
  return %x : tensor<8xf32>
}

// -----

// 2 x 3 does not nest in the module's own 3 x 2.

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @view(%x: tensor<2x3xf32>, %i: tensor<2x3xf32>) -> tensor<2x3xf32> {
  // expected-error@+1 {{the input of module 'fc' is cut in ways that do not nest with its own shape}}
  %p = tp.constrain %x on "tp" of <"tp" = 3> to shard<0> view [3, 2] at "fc" "input" : tensor<2x3xf32>
  return %p : tensor<2x3xf32>
}

// -----

func.func @unit(%x: tensor<1x3xf32>) -> tensor<1x3xf32> {
  // expected-error@+1 {{dimension 0 of the input of module 'fc' has size 1 and cannot be sharded}}
  %p = tp.constrain %x on "tp" of <"tp" = 3> to shard<0> view [1, 3] at "fc" "input" : tensor<1x3xf32>
  return %p : tensor<1x3xf32>
}

// -----

// Segments end between the parts the program cuts the dimension in.

func.func @segments(%x: tensor<12xf32>) -> tensor<3x4xf32> {
  // expected-error@+1 {{a segment of 6 of the output of module 'qkv' does not end between parts of 4}}
  %p = tp.constrain %x on "tp" of <"tp" = 2> to shard<0, segments = [6, 6]> view [12] at "qkv" "output" : tensor<12xf32>
  %y = tensor.expand_shape %p [[0, 1]] output_shape [3, 4] : tensor<12xf32> into tensor<3x4xf32>
  return %y : tensor<3x4xf32>
}

// -----

func.func @reduction_that_places(%x: tensor<8xf32>, %o: tensor<8xf32>) -> tensor<8xf32> {
  // expected-error@+1 {{loop #0 is no parallel loop and indexes output #0, expected the parallel loops to index every output}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> (d0)>], iterator_types = ["reduction"]}
      ins(%x : tensor<8xf32>) outs(%o : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<8xf32>
  return %0 : tensor<8xf32>
}

// -----

// Which of the eight elements the result is depends on who computes it.

func.func @parallel_that_reduces(%x: tensor<8xf32>, %o: tensor<f32>) -> tensor<f32> {
  // expected-error@+1 {{loop #0 is parallel and does not index output #0, expected the parallel loops to index every output}}
  %0 = linalg.generic {indexing_maps = [affine_map<(d0) -> (d0)>, affine_map<(d0) -> ()>], iterator_types = ["parallel"]}
      ins(%x : tensor<8xf32>) outs(%o : tensor<f32>) {
  ^bb0(%a: f32, %b: f32):
    linalg.yield %a : f32
  } -> tensor<f32>
  return %0 : tensor<f32>
}

// -----

func.func @winograd(%x: tensor<2x3x3x5xf32>, %o: tensor<6x6x5x2xf32>) -> tensor<6x6x5x2xf32> {
  // expected-error@+1 {{'linalg.winograd_filter_transform' is not handled, expected the convolution it stands for}}
  %0 = linalg.winograd_filter_transform fmr(F_4_3) ins(%x : tensor<2x3x3x5xf32>) outs(%o : tensor<6x6x5x2xf32>) -> tensor<6x6x5x2xf32>
  return %0 : tensor<6x6x5x2xf32>
}

// -----

func.func @winograd_input(%x: tensor<2x6x6x5xf32>, %o: tensor<6x6x1x1x2x5xf32>) -> tensor<6x6x1x1x2x5xf32> {
  // expected-error@+1 {{'linalg.winograd_input_transform' is not handled, expected the convolution it stands for}}
  %0 = linalg.winograd_input_transform fmr(F_4_3) ins(%x : tensor<2x6x6x5xf32>) outs(%o : tensor<6x6x1x1x2x5xf32>) -> tensor<6x6x1x1x2x5xf32>
  return %0 : tensor<6x6x1x1x2x5xf32>
}

// -----

func.func @winograd_output(%x: tensor<6x6x1x1x2x5xf32>, %o: tensor<2x4x4x5xf32>) -> tensor<2x4x4x5xf32> {
  // expected-error@+1 {{'linalg.winograd_output_transform' is not handled, expected the convolution it stands for}}
  %0 = linalg.winograd_output_transform fmr(F_4_3) ins(%x : tensor<6x6x1x1x2x5xf32>) outs(%o : tensor<2x4x4x5xf32>) -> tensor<2x4x4x5xf32>
  return %0 : tensor<2x4x4x5xf32>
}

// -----

func.func @softmax_of_integers(%x: tensor<6x12xi32>) -> tensor<6x12xi32> {
  // expected-error@+1 {{softmax expected floats of one type as input and output, got 'tensor<6x12xi32>' and 'tensor<6x12xi32>'}}
  %0 = linalg.softmax dimension(1) ins(%x : tensor<6x12xi32>) outs(%x : tensor<6x12xi32>) -> tensor<6x12xi32>
  return %0 : tensor<6x12xi32>
}
