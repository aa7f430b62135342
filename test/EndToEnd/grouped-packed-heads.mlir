// A packed projection of 8 query heads in 4 groups, 4 key and 4 value heads,
// split over whole heads of each on 2, 4 and 5 ranks: one all_reduce, nothing
// else. Over 3 the heads of a group fall apart and over 8 a group has two
// ranks: right, with a collective more.
//
// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{run} = tp-run --poison --input=x=@%t.x.npy --input=qkv.weight=@%t.w.npy --input=o.weight=@%t.o.npy
// RUN: %python %S/Inputs/write_npy.py %t.x.npy=3,32 %t.w.npy=128,32 %t.o.npy=32,64
// RUN: tp-compile %t/model.mlir -o %t.1.tp
// RUN: %{run} %t.1.tp --ranks=1 --output=y=@%t.y.npy --output=scores=@%t.s.npy
// DEFINE: %{ranks} =
// DEFINE: %{split} = tp-compile %t/model.mlir --plan=%t/plan.mlir --mesh=tp=%{ranks} -o %t.n.tp --report=%t.%{ranks}.txt --verify && %{run} %t.n.tp --ranks=%{ranks} --expected-output=y=@%t.y.npy --expected-output=scores=@%t.s.npy
// REDEFINE: %{ranks} = 2
// RUN: %{split}
// RUN: FileCheck %s --input-file=%t.2.txt
// REDEFINE: %{ranks} = 3
// RUN: %{split}
// REDEFINE: %{ranks} = 4
// RUN: %{split}
// RUN: FileCheck %s --input-file=%t.4.txt
// REDEFINE: %{ranks} = 5
// RUN: %{split}
// RUN: FileCheck %s --input-file=%t.5.txt
// REDEFINE: %{ranks} = 8
// RUN: %{split}

// CHECK:      collectives by kind
// CHECK-NEXT: kind
// CHECK-NEXT: all_reduce  1  384
// CHECK-EMPTY:

//--- plan.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @m on #mesh["tp"] {
  tp.parallelize "qkv" with colwise
  tp.parallelize "o" with rowwise
}
//--- model.mlir
#x = affine_map<(b, n, i) -> (b, i)>
#w = affine_map<(b, n, i) -> (n, i)>
#o = affine_map<(b, n, i) -> (b, n)>
#id3 = affine_map<(a, b, c) -> (a, b, c)>
#s0 = affine_map<(b, g, r, d) -> (b, g, r, d)>
#s1 = affine_map<(b, g, r, d) -> (b, g, d)>
#s2 = affine_map<(b, g, r, d) -> (b, g, r)>
func.func @main(%x: tensor<3x32xf32> {tp.name = "x", tp.kind = "user_input"},
                %w: tensor<128x32xf32> {tp.name = "qkv.weight", tp.kind = "parameter"},
                %wo: tensor<32x64xf32> {tp.name = "o.weight", tp.kind = "parameter"}) -> (tensor<3x32xf32> {tp.name = "y"}, tensor<3x4x2xf32> {tp.name = "scores"}) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<3x128xf32>
  %i = linalg.fill ins(%zero : f32) outs(%e : tensor<3x128xf32>) -> tensor<3x128xf32>
  %h = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %w : tensor<3x32xf32>, tensor<128x32xf32>) outs(%i : tensor<3x128xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x128xf32>
  %q = tensor.extract_slice %h[0, 0] [3, 64] [1, 1] : tensor<3x128xf32> to tensor<3x64xf32>
  %k = tensor.extract_slice %h[0, 64] [3, 32] [1, 1] : tensor<3x128xf32> to tensor<3x32xf32>
  %v = tensor.extract_slice %h[0, 96] [3, 32] [1, 1] : tensor<3x128xf32> to tensor<3x32xf32>
  %qh = tensor.expand_shape %q [[0], [1, 2, 3]] output_shape [3, 4, 2, 8] : tensor<3x64xf32> into tensor<3x4x2x8xf32>
  %kh = tensor.expand_shape %k [[0], [1, 2]] output_shape [3, 4, 8] : tensor<3x32xf32> into tensor<3x4x8xf32>
  %vh = tensor.expand_shape %v [[0], [1, 2]] output_shape [3, 4, 8] : tensor<3x32xf32> into tensor<3x4x8xf32>
  %es = tensor.empty() : tensor<3x4x2xf32>
  %is = linalg.fill ins(%zero : f32) outs(%es : tensor<3x4x2xf32>) -> tensor<3x4x2xf32>
  %scores = linalg.generic {indexing_maps = [#s0, #s1, #s2], iterator_types = ["parallel", "parallel", "parallel", "reduction"]} ins(%qh, %kh : tensor<3x4x2x8xf32>, tensor<3x4x8xf32>) outs(%is : tensor<3x4x2xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x4x2xf32>
  %ec = tensor.empty() : tensor<3x4x2x8xf32>
  %c = linalg.generic {indexing_maps = [#s2, #s1, #s0], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%scores, %vh : tensor<3x4x2xf32>, tensor<3x4x8xf32>) outs(%ec : tensor<3x4x2x8xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    linalg.yield %p : f32
  } -> tensor<3x4x2x8xf32>
  %flat = tensor.collapse_shape %c [[0], [1, 2, 3]] : tensor<3x4x2x8xf32> into tensor<3x64xf32>
  %ey = tensor.empty() : tensor<3x32xf32>
  %iy = linalg.fill ins(%zero : f32) outs(%ey : tensor<3x32xf32>) -> tensor<3x32xf32>
  %y = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]} ins(%flat, %wo : tensor<3x64xf32>, tensor<32x64xf32>) outs(%iy : tensor<3x32xf32>) {
  ^bb0(%a: f32, %b: f32, %acc: f32):
    %p = arith.mulf %a, %b : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<3x32xf32>
  return %y, %scores : tensor<3x32xf32>, tensor<3x4x2xf32>
}
