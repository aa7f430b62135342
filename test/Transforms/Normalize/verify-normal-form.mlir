// RUN: tp-opt %s --tp-verify-normal-form --split-input-file --verify-diagnostics

// A merged dimension between ops that could work on its parts.

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @merged(%x: tensor<3x5x7xf32>, %init: tensor<15x7xf32>) -> tensor<15x7xf32> {
  // expected-note@+1 {{behind this reshape}}
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<3x5x7xf32> into tensor<15x7xf32>
  // expected-error@+1 {{works on 'tensor<15x7xf32>' where 'tensor<3x5x7xf32>' is possible}}
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%rows : tensor<15x7xf32>) outs(%init : tensor<15x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<15x7xf32>
  return %y : tensor<15x7xf32>
}

// -----

// A dimension of size 1.

#id = affine_map<(d0, d1) -> (d0, d1)>
func.func @unit(%x: tensor<1x7xf32>, %init: tensor<1x7xf32>) -> tensor<1x7xf32> {
  // expected-error@+1 {{works on 'tensor<1x7xf32>' where 'tensor<7xf32>' is possible}}
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<1x7xf32>) outs(%init : tensor<1x7xf32>) {
  ^bb0(%in: f32, %out: f32):
    %n = arith.negf %in : f32
    linalg.yield %n : f32
  } -> tensor<1x7xf32>
  return %y : tensor<1x7xf32>
}

// -----

// A captured table.

#id = affine_map<(d0) -> (d0)>
func.func @table(%x: tensor<3x5x7xf32>, %ids: tensor<2xi64>, %init: tensor<2xf32>) -> tensor<2xf32> {
  // expected-note@+1 {{behind this reshape}}
  %table = tensor.collapse_shape %x [[0, 1], [2]] : tensor<3x5x7xf32> into tensor<15x7xf32>
  %zero = arith.constant 0 : index
  // expected-error@+1 {{works on 'tensor<15x7xf32>' where 'tensor<3x5x7xf32>' is possible}}
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]} ins(%ids : tensor<2xi64>) outs(%init : tensor<2xf32>) {
  ^bb0(%in: i64, %out: f32):
    %at = arith.index_cast %in : i64 to index
    %v = tensor.extract %table[%at, %zero] : tensor<15x7xf32>
    linalg.yield %v : f32
  } -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

// A slice that could leave the other dimension in its parts.

func.func @slice(%x: tensor<3x5x7xf32>) -> tensor<15x2xf32> {
  // expected-note@+1 {{behind this reshape}}
  %rows = tensor.collapse_shape %x [[0, 1], [2]] : tensor<3x5x7xf32> into tensor<15x7xf32>
  // expected-error@+1 {{works on 'tensor<15x7xf32>' where 'tensor<3x5x7xf32>' is possible}}
  %y = tensor.extract_slice %rows[0, 1] [15, 2] [1, 1] : tensor<15x7xf32> to tensor<15x2xf32>
  return %y : tensor<15x2xf32>
}

// -----

// A pin that still speaks of the module's own shape.

func.func @pin(%x: tensor<3x5x7xf32>) -> tensor<3x5x7xf32> {
  // expected-error@+1 {{has the view 15x7, other than its shape 3x5x7}}
  %y = tp.constrain %x on "tp" of <"tp" = 3> to shard<0> view [15, 7] at "fc" "input" : tensor<3x5x7xf32>
  return %y : tensor<3x5x7xf32>
}
