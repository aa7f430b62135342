// RUN: tp-opt %s --tp-form-attention | FileCheck %s --check-prefix=FORM
// RUN: tp-opt %s --tp-form-attention --tp-assign-storage --tp-form-kernels --tp-plan-memory -o %t.planned.mlir
// RUN: FileCheck %s < %t.planned.mlir
// RUN: tp-opt %t.planned.mlir --tp-cpu-compile=output=%t.tp -o /dev/null
// RUN: tp-opt %s --tp-assign-storage --tp-form-kernels --tp-plan-memory --tp-cpu-compile=output=%t.products.tp -o /dev/null
// RUN: %python %S/../../EndToEnd/Inputs/write_npy.py %t.q.npy=2,9,4 %t.k.npy=2,9,4 %t.v.npy=2,9,3 %t.go.npy=2,9,3
// RUN: tp-run %t.products.tp --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --input=go=@%t.go.npy \
// RUN:   --output=o=@%t.o.npy --output=gq=@%t.gq.npy --output=gk=@%t.gk.npy --output=gv=@%t.gv.npy
// RUN: tp-run %t.tp --poison --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --input=go=@%t.go.npy \
// RUN:   --expected-output=o=@%t.o.npy --expected-output=gq=@%t.gq.npy --expected-output=gk=@%t.gk.npy \
// RUN:   --expected-output=gv=@%t.gv.npy | FileCheck %s --check-prefix=EQUAL
// RUN: tp-run %t.tp --info | FileCheck %s --check-prefix=INFO
// RUN: tp-opt %s --tp-form-attention=target=cuda | FileCheck %s --check-prefix=CUDA

// Forward and backward pass of a causal attention: with tp-form-attention nothing
// of queries by keys is in memory. Without the pass products and kernels compute
// the same, which tp-run compares with. A device keeps the weights.

// FORM:         %[[S:.*]] = tp.attend %[[Q:.*]], %[[K:.*]], %[[V:.*]] bias %[[SPANS:.*]] scale 5.000000e-01 pairs 45 : {{.*}} -> tensor<1x2x9x5xf32>
// FORM:         math.log
// FORM:         tp.attend_backward %[[Q]], %[[K]], %[[V]] bias %[[SPANS]] from %{{.*}} lse %{{.*}} delta %{{.*}} scale 5.000000e-01 pairs 45 :
// FORM-NOT:     tensor<2x9x9x

// CHECK:        tp.attention %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} into %{{.*}} partial scale 5.000000e-01
// CHECK:        tp.attention_backward %{{.*}}, %{{.*}}, %{{.*}} bias %{{.*}} from %{{.*}} lse %{{.*}} delta %{{.*}} into %{{.*}}, %{{.*}}, %{{.*}} scale 5.000000e-01 flops {{.*}} :
// CHECK-NOT:    memref<2x9x9x

// EQUAL-DAG: o: equal
// EQUAL-DAG: gq: equal
// EQUAL-DAG: gk: equal
// EQUAL-DAG: gv: equal

// INFO: attention
// INFO: f32 {{.*}} bias i64, backward

// CUDA-NOT: tp.attend

#id = affine_map<(h, i, j) -> (h, i, j)>
#rows = affine_map<(h, i, j) -> (h, i)>
module attributes {tp.mesh = #tp.mesh<"tp" = 1>} {
  func.func @main(
      %q: tensor<2x9x4xf32> {tp.name = "q"}, %k: tensor<2x9x4xf32> {tp.name = "k"},
      %v: tensor<2x9x3xf32> {tp.name = "v"}, %go: tensor<2x9x3xf32> {tp.name = "go"})
      -> (tensor<2x9x3xf32> {tp.name = "o"}, tensor<2x9x4xf32> {tp.name = "gq"},
          tensor<2x9x4xf32> {tp.name = "gk"}, tensor<2x9x3xf32> {tp.name = "gv"}) {
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %e3 = tensor.empty() : tensor<2x9x9xf32>
    %e2 = tensor.empty() : tensor<2x9xf32>
    %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x9x9xf32>) -> tensor<2x9x9xf32>
    %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x9xf32>) -> tensor<2x9xf32>
    %l2 = linalg.fill ins(%lowest : f32) outs(%e2 : tensor<2x9xf32>) -> tensor<2x9xf32>
    %e4 = tensor.empty() : tensor<2x9x4xf32>
    %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<2x9x4xf32>) -> tensor<2x9x4xf32>
    %ev = tensor.empty() : tensor<2x9x3xf32>
    %zv = linalg.fill ins(%zero : f32) outs(%ev : tensor<2x9x3xf32>) -> tensor<2x9x3xf32>

    // Forward: scores, weights, result.
    %ekt = tensor.empty() : tensor<2x4x9xf32>
    %kt = linalg.transpose ins(%k : tensor<2x9x4xf32>) outs(%ekt : tensor<2x4x9xf32>) permutation = [0, 2, 1]
    %s = linalg.batch_matmul ins(%q, %kt : tensor<2x9x4xf32>, tensor<2x4x9xf32>) outs(%z3 : tensor<2x9x9xf32>) -> tensor<2x9x9xf32>
    %masked = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x9x9xf32>) outs(%e3 : tensor<2x9x9xf32>) {
    ^bb0(%a: f32, %o: f32):
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %seen = arith.cmpi sle, %j, %i : index
      %x = arith.mulf %a, %half : f32
      %y = arith.select %seen, %x, %lowest : f32
      linalg.yield %y : f32
    } -> tensor<2x9x9xf32>
    %most = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "parallel", "reduction"]} ins(%masked : tensor<2x9x9xf32>) outs(%l2 : tensor<2x9xf32>) {
    ^bb0(%a: f32, %o: f32):
      %x = arith.maximumf %a, %o : f32
      linalg.yield %x : f32
    } -> tensor<2x9xf32>
    %exponentials = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%masked, %most : tensor<2x9x9xf32>, tensor<2x9xf32>) outs(%e3 : tensor<2x9x9xf32>) {
    ^bb0(%a: f32, %m: f32, %o: f32):
      %x = arith.subf %a, %m : f32
      %y = math.exp %x : f32
      linalg.yield %y : f32
    } -> tensor<2x9x9xf32>
    %total = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "parallel", "reduction"]} ins(%exponentials : tensor<2x9x9xf32>) outs(%z2 : tensor<2x9xf32>) {
    ^bb0(%a: f32, %o: f32):
      %x = arith.addf %a, %o : f32
      linalg.yield %x : f32
    } -> tensor<2x9xf32>
    %p = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%exponentials, %total : tensor<2x9x9xf32>, tensor<2x9xf32>) outs(%e3 : tensor<2x9x9xf32>) {
    ^bb0(%a: f32, %t: f32, %o: f32):
      %x = arith.divf %a, %t : f32
      linalg.yield %x : f32
    } -> tensor<2x9x9xf32>
    %o = linalg.batch_matmul ins(%p, %v : tensor<2x9x9xf32>, tensor<2x9x3xf32>) outs(%zv : tensor<2x9x3xf32>) -> tensor<2x9x3xf32>

    // Backward: p * dp - p * sum (p * dp).
    %ept = tensor.empty() : tensor<2x9x9xf32>
    %pt = linalg.transpose ins(%p : tensor<2x9x9xf32>) outs(%ept : tensor<2x9x9xf32>) permutation = [0, 2, 1]
    %gv = linalg.batch_matmul ins(%pt, %go : tensor<2x9x9xf32>, tensor<2x9x3xf32>) outs(%zv : tensor<2x9x3xf32>) -> tensor<2x9x3xf32>
    %evt = tensor.empty() : tensor<2x3x9xf32>
    %vt = linalg.transpose ins(%v : tensor<2x9x3xf32>) outs(%evt : tensor<2x3x9xf32>) permutation = [0, 2, 1]
    %dp = linalg.batch_matmul ins(%go, %vt : tensor<2x9x3xf32>, tensor<2x3x9xf32>) outs(%z3 : tensor<2x9x9xf32>) -> tensor<2x9x9xf32>
    %product = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%dp, %p : tensor<2x9x9xf32>, tensor<2x9x9xf32>) outs(%e3 : tensor<2x9x9xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %x = arith.mulf %a, %b : f32
      linalg.yield %x : f32
    } -> tensor<2x9x9xf32>
    %mean = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "parallel", "reduction"]} ins(%product : tensor<2x9x9xf32>) outs(%z2 : tensor<2x9xf32>) {
    ^bb0(%a: f32, %c: f32):
      %x = arith.addf %a, %c : f32
      linalg.yield %x : f32
    } -> tensor<2x9xf32>
    %ds = linalg.generic {indexing_maps = [#id, #id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%product, %p, %mean : tensor<2x9x9xf32>, tensor<2x9x9xf32>, tensor<2x9xf32>) outs(%e3 : tensor<2x9x9xf32>) {
    ^bb0(%a: f32, %b: f32, %m: f32, %c: f32):
      %x = arith.mulf %b, %m : f32
      %y = arith.subf %a, %x : f32
      %i = linalg.index 1 : index
      %j = linalg.index 2 : index
      %seen = arith.cmpi sle, %j, %i : index
      %hidden = arith.select %seen, %y, %zero : f32
      %w = arith.mulf %hidden, %half : f32
      linalg.yield %w : f32
    } -> tensor<2x9x9xf32>
    %gq = linalg.batch_matmul ins(%ds, %k : tensor<2x9x9xf32>, tensor<2x9x4xf32>) outs(%z4 : tensor<2x9x4xf32>) -> tensor<2x9x4xf32>
    %edt = tensor.empty() : tensor<2x9x9xf32>
    %dt = linalg.transpose ins(%ds : tensor<2x9x9xf32>) outs(%edt : tensor<2x9x9xf32>) permutation = [0, 2, 1]
    %gk = linalg.batch_matmul ins(%dt, %q : tensor<2x9x9xf32>, tensor<2x9x4xf32>) outs(%z4 : tensor<2x9x4xf32>) -> tensor<2x9x4xf32>
    return %o, %gq, %gk, %gv : tensor<2x9x3xf32>, tensor<2x9x4xf32>, tensor<2x9x4xf32>, tensor<2x9x3xf32>
  }
}
