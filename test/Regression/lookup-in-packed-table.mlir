// RUN: %python %S/../EndToEnd/Inputs/write_npy.py %t.x.npy=5
// RUN: sed 's/<"tp" = 3>/<"tp" = 1>/' %s > %t.one.mlir
// RUN: tp-compile %t.one.mlir -o %t.one.tp
// RUN: tp-run %t.one.tp --ranks=1 --input=x=@%t.x.npy --output=y=@%t.y.npy
// RUN: tp-compile %s -o %t.tp --verify
// RUN: tp-run %t.tp --ranks=3 --poison --input=x=@%t.x.npy --expected-output=y=@%t.y.npy | FileCheck %s
// RUN: tp-opt %s --tp-normalize --tp-propagate | FileCheck %s --check-prefix=SPLIT

// A lookup in two tables side by side, each split by itself: what a rank holds
// of the second was not found, and the sum over ranks was 0 there.
// CHECK: equal
// SPLIT: linalg.generic {{.*}} [split<1, segments = [5, 5]>]

#mesh = #tp.mesh<"tp" = 3>
#id = affine_map<(d0) -> (d0)>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<5xf32> {tp.name = "x"}) -> (tensor<2xf32> {tp.name = "y"}) {
    %both = tensor.concat dim(0) %x, %x : (tensor<5xf32>, tensor<5xf32>) -> tensor<10xf32>
    %table = tp.constrain %both on "tp" of #mesh to shard<0> view [10] at "table" "output" : tensor<10xf32>
    %empty = tensor.empty() : tensor<2xf32>
    %y = linalg.generic {indexing_maps = [#id], iterator_types = ["parallel"]} outs(%empty : tensor<2xf32>) {
    ^bb0(%out: f32):
      %seven = arith.constant 7 : index
      %ten = arith.constant 10 : index
      %i = linalg.index 0 : index
      %far = arith.muli %i, %seven : index
      %at = arith.remui %far, %ten : index
      %found = tensor.extract %table[%at] : tensor<10xf32>
      linalg.yield %found : f32
    } -> tensor<2xf32>
    return %y : tensor<2xf32>
  }
}
