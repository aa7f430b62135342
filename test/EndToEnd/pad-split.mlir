// A dimension that is padded while it is split: the widened shortcut of a
// residual block, on 1 to 4 ranks. Over 3 the padding behind is uneven. Over 4
// that in front is: the last rank has none of it.
//
// RUN: rm -rf %t && split-file %s %t
// DEFINE: %{run} = tp-run --poison --input=x=@%t.x.npy --input=up.weight=@%t.up.npy --input=wide.weight=@%t.wide.npy --input=down.weight=@%t.down.npy
// RUN: %python %S/Inputs/write_npy.py %t.x.npy=4,18 %t.up.npy=12,18 %t.wide.npy=22,18 %t.down.npy=10,22
// RUN: tp-compile %t/model.mlir -o %t.0.tp --verify
// RUN: %{run} %t.0.tp --ranks=1 --output=y=@%t.y.npy
// DEFINE: %{ranks} =
// DEFINE: %{split} = tp-compile %t/model.mlir --plan=%t/plan.mlir --mesh=tp=%{ranks} -o %t.n.tp --report=%t.%{ranks}.txt --verify && %{run} %t.n.tp --ranks=%{ranks} --expected-output=y=@%t.y.npy
// REDEFINE: %{ranks} = 1
// RUN: %{split}
// REDEFINE: %{ranks} = 2
// RUN: %{split}
// RUN: FileCheck %s --input-file=%t.2.txt
// REDEFINE: %{ranks} = 3
// RUN: %{split}
// RUN: FileCheck %s --input-file=%t.3.txt
// REDEFINE: %{ranks} = 4
// RUN: %{split}
// RUN: FileCheck %s --input-file=%t.4.txt

// Nothing is gathered for the pad: the only collective adds the products up.
// CHECK:      collectives by kind
// CHECK-NEXT: kind
// CHECK-NEXT: all_reduce  1      160
// CHECK-EMPTY:

//--- plan.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @m on #mesh["tp"] {
  tp.parallelize "up" with colwise
  tp.parallelize "wide" with colwise
  tp.parallelize "down" with rowwise
}
//--- model.mlir
#x = affine_map<(b, n, i) -> (b, i)>
#w = affine_map<(b, n, i) -> (n, i)>
#o = affine_map<(b, n, i) -> (b, n)>
#id = affine_map<(b, n) -> (b, n)>
func.func @main(%x: tensor<4x18xf32> {tp.name = "x", tp.kind = "user_input"},
                %up: tensor<12x18xf32> {tp.name = "up.weight", tp.kind = "parameter"},
                %wide: tensor<22x18xf32> {tp.name = "wide.weight", tp.kind = "parameter"},
                %down: tensor<10x22xf32> {tp.name = "down.weight", tp.kind = "parameter"}) -> (tensor<4x10xf32> {tp.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %half = arith.constant 0.5 : f32
  %ea = tensor.empty() : tensor<4x12xf32>
  %ia = linalg.fill ins(%zero : f32) outs(%ea : tensor<4x12xf32>) -> tensor<4x12xf32>
  %a = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %up : tensor<4x18xf32>, tensor<12x18xf32>) outs(%ia : tensor<4x12xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x12xf32>
  %shortcut = tensor.pad %a low[0, 6] high[0, 4] {
  ^bb0(%i: index, %j: index):
    tensor.yield %half : f32
  } : tensor<4x12xf32> to tensor<4x22xf32>
  %eb = tensor.empty() : tensor<4x22xf32>
  %ib = linalg.fill ins(%zero : f32) outs(%eb : tensor<4x22xf32>) -> tensor<4x22xf32>
  %b = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x, %wide : tensor<4x18xf32>, tensor<22x18xf32>) outs(%ib : tensor<4x22xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x22xf32>
  %es = tensor.empty() : tensor<4x22xf32>
  %sum = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]} ins(%shortcut, %b : tensor<4x22xf32>, tensor<4x22xf32>) outs(%es : tensor<4x22xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %t = math.tanh %r : f32
    %s = arith.addf %l, %t : f32
    linalg.yield %s : f32
  } -> tensor<4x22xf32>
  %ey = tensor.empty() : tensor<4x10xf32>
  %iy = linalg.fill ins(%zero : f32) outs(%ey : tensor<4x10xf32>) -> tensor<4x10xf32>
  %y = linalg.generic {indexing_maps = [#x, #w, #o], iterator_types = ["parallel", "parallel", "reduction"]} ins(%sum, %down : tensor<4x22xf32>, tensor<10x22xf32>) outs(%iy : tensor<4x10xf32>) {
  ^bb0(%l: f32, %r: f32, %acc: f32):
    %p = arith.mulf %l, %r : f32
    %s = arith.addf %acc, %p : f32
    linalg.yield %s : f32
  } -> tensor<4x10xf32>
  return %y : tensor<4x10xf32>
}
