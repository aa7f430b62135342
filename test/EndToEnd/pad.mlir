// Padding beside a split dimension, and of partial sums, on 2 ranks as on 1.
//
// DEFINE: %{run} = tp-run --poison --input=x=@%t.x.npy --input=w=@%t.w.npy
// RUN: %python %S/Inputs/write_npy.py %t.x.npy=6,20 %t.w.npy=20,10
// RUN: tp-compile %s -o %t.1.tp --verify
// RUN: %{run} %t.1.tp --ranks=1 --output=y=@%t.y.npy --output=rows=@%t.rows.npy
// RUN: tp-compile %s --plan=%S/Inputs/pad.plan.mlir -o %t.2.tp --report=%t.txt --verify
// RUN: %{run} %t.2.tp --ranks=2 --expected-output=y=@%t.y.npy --expected-output=rows=@%t.rows.npy
// RUN: FileCheck %s --input-file=%t.txt

// Only the 18 sums of the slice are reduced, and nothing else communicated:
// the pad keeps them partial.
// CHECK:      collectives by kind
// CHECK-NEXT: kind
// CHECK-NEXT: all_reduce  1      72
// CHECK-EMPTY:

func.func @main(%x: tensor<6x20xf32> {tp.name = "x"}, %w: tensor<20x10xf32> {tp.name = "w"}) -> (tensor<9x2xf32> {tp.name = "y"}, tensor<9x20xf32> {tp.name = "rows"}) {
  %zero = arith.constant 0.0 : f32
  %two = arith.constant 2.0 : f32
  %rows = tensor.pad %x low[1, 0] high[2, 0] {
  ^bb0(%i: index, %j: index):
    tensor.yield %two : f32
  } : tensor<6x20xf32> to tensor<9x20xf32>
  %e = tensor.empty() : tensor<9x10xf32>
  %init = linalg.fill ins(%zero : f32) outs(%e : tensor<9x10xf32>) -> tensor<9x10xf32>
  %p = linalg.matmul ins(%rows, %w : tensor<9x20xf32>, tensor<20x10xf32>) outs(%init : tensor<9x10xf32>) -> tensor<9x10xf32>
  %columns = tensor.pad %p low[0, 1] high[0, 3] {
  ^bb0(%i: index, %j: index):
    tensor.yield %zero : f32
  } : tensor<9x10xf32> to tensor<9x14xf32>
  %y = tensor.extract_slice %columns[0, 0] [9, 2] [1, 1] : tensor<9x14xf32> to tensor<9x2xf32>
  return %y, %rows : tensor<9x2xf32>, tensor<9x20xf32>
}
