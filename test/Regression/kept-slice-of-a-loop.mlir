// RUN: sed 's/tp.kept %row : tensor<4x8xf32>/tensor.cast %row : tensor<4x8xf32> to tensor<4x8xf32>/' %s > %t.plain.mlir
// RUN: tp-compile %t.plain.mlir --unroll-limit=10 -o %t.plain.tp
// RUN: tp-run %t.plain.tp --random-data=1 --output=y=@%t.plain.npy
// RUN: tp-compile %s --unroll-limit=10 -o %t.kept.tp
// RUN: tp-run %t.kept.tp --random-data=1 --poison --output=y=@%t.kept.npy
// RUN: cmp %t.plain.npy %t.kept.npy

// What is kept is a slice that each iteration reads somewhere else. A product
// needs it in memory of its own, which no command wrote.

func.func @main(%w: tensor<8x8xf32> {tp.name = "w", tp.kind = "parameter"}, %x: tensor<40x4x8xf32> {tp.name = "x"}) -> (tensor<40x4x8xf32> {tp.name = "y"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c40 = arith.constant 40 : index
  %zero = arith.constant 0.0 : f32
  %all = tensor.empty() : tensor<40x4x8xf32>
  %none = linalg.fill ins(%zero : f32) outs(%all : tensor<40x4x8xf32>) -> tensor<40x4x8xf32>
  %y = scf.for %i = %c0 to %c40 step %c1 iter_args(%done = %none) -> (tensor<40x4x8xf32>) {
    %row = tensor.extract_slice %x[%i, 0, 0] [1, 4, 8] [1, 1, 1] : tensor<40x4x8xf32> to tensor<4x8xf32>
    %kept = tp.kept %row : tensor<4x8xf32>
    %empty = tensor.empty() : tensor<4x8xf32>
    %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<4x8xf32>) -> tensor<4x8xf32>
    %product = linalg.matmul ins(%kept, %w : tensor<4x8xf32>, tensor<8x8xf32>) outs(%init : tensor<4x8xf32>) -> tensor<4x8xf32>
    %more = tensor.insert_slice %product into %done[%i, 0, 0] [1, 4, 8] [1, 1, 1] : tensor<4x8xf32> into tensor<40x4x8xf32>
    scf.yield %more : tensor<40x4x8xf32>
  }
  return %y : tensor<40x4x8xf32>
}
