// RUN: tp-opt %s --tp-form-attention --tp-assign-storage --tp-form-kernels | FileCheck %s
// RUN: tp-opt %s --tp-form-attention --tp-assign-storage --tp-form-kernels --tp-plan-memory --mlir-print-debuginfo -o %t.planned.mlir
// RUN: tp-opt %t.planned.mlir --tp-cpu-compile=show=manifest -o /dev/null > %t.in-stages
// RUN: tp-opt %s --tp-cpu-compile=show=manifest -o /dev/null | cmp - %t.in-stages
// RUN: tp-opt %s --tp-cpu-compile=output=%t.tp -o /dev/null
// RUN: tp-run %t.tp --poison "--input=q=4x2xf32=[1 0 0 1 2 1 -1 3]" "--input=k=4x2xf32=[1 2 0 1 -1 1 2 0]" "--input=v=4x2xf32=[1 2 3 4 5 6 7 8]" | FileCheck %s --check-prefix=NUMBERS
// RUN: tp-opt %s --tp-assign-storage --tp-form-kernels | FileCheck %s --check-prefix=PRODUCTS

// An attention is one command without steps, and its scores are in no memory.

// CHECK:      func.func @main
// CHECK:        %[[O:.*]] = tp.alloc : memref<4x2xf32>
// CHECK-NOT:    tp.alloc
// CHECK:        tp.attention
// CHECK-SAME:     scale 5.000000e-01 upper 0 flops 80
// CHECK-NEXT:   }
// CHECK-NOT:    tp.kernel
// CHECK:        return %[[O]]

// PRODUCTS-NOT: tp.attention
// PRODUCTS:     tp.gemm

// Of the first query the only key is the first; the reference is numpy's.
// NUMBERS: o: f32[4, 2], min 1, max {{.*}}: [1, 2, 1.75508, 2.75508, 1.59347, 2.59347, 2.66769, 3.66769]

func.func @main(%q: tensor<4x2xf32> {tp.name = "q"}, %k: tensor<4x2xf32> {tp.name = "k"}, %v: tensor<4x2xf32> {tp.name = "v"}) -> (tensor<4x2xf32> {tp.name = "o"}) {
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant 0xFF800000 : f32
  %half = arith.constant 0.5 : f32
  %e = tensor.empty() : tensor<4x4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %s = linalg.matmul indexing_maps = [affine_map<(i, j, l) -> (i, l)>, affine_map<(i, j, l) -> (j, l)>, affine_map<(i, j, l) -> (i, j)>]
    ins(%q, %k : tensor<4x2xf32>, tensor<4x2xf32>) outs(%f : tensor<4x4xf32>) -> tensor<4x4xf32>
  %masked = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%s : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) {
  ^bb0(%a: f32, %b: f32):
    %i = linalg.index 0 : index
    %j = linalg.index 1 : index
    %sees = arith.cmpi sle, %j, %i : index
    %x = arith.mulf %a, %half : f32
    %y = arith.select %sees, %x, %lowest : f32
    linalg.yield %y : f32
  } -> tensor<4x4xf32>
  %er = tensor.empty() : tensor<4xf32>
  %fm = linalg.fill ins(%lowest : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %m = linalg.reduce { arith.maximumf } ins(%masked : tensor<4x4xf32>) outs(%fm : tensor<4xf32>) dimensions = [1]
  %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%e : tensor<4x4xf32>) dimensions = [1]
  %d = linalg.sub ins(%masked, %mb : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %x = linalg.exp ins(%d : tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %fl = linalg.fill ins(%zero : f32) outs(%er : tensor<4xf32>) -> tensor<4xf32>
  %l = linalg.reduce { arith.addf } ins(%x : tensor<4x4xf32>) outs(%fl : tensor<4xf32>) dimensions = [1]
  %lb = linalg.broadcast ins(%l : tensor<4xf32>) outs(%e : tensor<4x4xf32>) dimensions = [1]
  %w = linalg.div ins(%x, %lb : tensor<4x4xf32>, tensor<4x4xf32>) outs(%e : tensor<4x4xf32>) -> tensor<4x4xf32>
  %eo = tensor.empty() : tensor<4x2xf32>
  %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x2xf32>) -> tensor<4x2xf32>
  %o = linalg.matmul ins(%w, %v : tensor<4x4xf32>, tensor<4x2xf32>) outs(%fo : tensor<4x2xf32>) -> tensor<4x2xf32>
  return %o : tensor<4x2xf32>
}
