// RUN: tp-opt %s --tp-form-attention | FileCheck %s --check-prefix=FORM
// RUN: tp-opt %s --tp-form-attention --tp-assign-storage --tp-form-kernels --tp-plan-memory -o %t.planned.mlir
// RUN: FileCheck %s --check-prefix=MEMORY < %t.planned.mlir
// RUN: tp-opt %t.planned.mlir --tp-cpu-compile=output=%t.tp -o /dev/null
// RUN: sed 's/ {tp.ring}//' %s > %t.gathers.mlir
// RUN: tp-opt %t.gathers.mlir --tp-assign-storage --tp-form-kernels --tp-plan-memory --tp-cpu-compile=output=%t.products.tp -o /dev/null
// RUN: %python %S/../../EndToEnd/Inputs/write_npy.py %t.q.npy=2,9,4 %t.k.npy=2,9,4 %t.v.npy=2,9,3 %t.go.npy=2,9,3
// RUN: tp-run %t.products.tp --ranks=3 --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --input=go=@%t.go.npy \
// RUN:   --output=o=@%t.o.npy --output=gq=@%t.gq.npy --output=gk=@%t.gk.npy --output=gv=@%t.gv.npy
// RUN: tp-run %t.tp --ranks=3 --poison --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --input=go=@%t.go.npy \
// RUN:   --expected-output=o=@%t.o.npy --expected-output=gq=@%t.gq.npy --expected-output=gk=@%t.gk.npy \
// RUN:   --expected-output=gv=@%t.gv.npy | FileCheck %s --check-prefix=EQUAL
// RUN: sed 's/reduce_scatter sum %gks/reduce_scatter max %gks/' %s > %t.max.mlir
// RUN: not tp-opt %t.max.mlir --tp-form-attention -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER
// RUN: sed 's/%x = arith.mulf %a, %factor : f32/%n = linalg.index 1 : index %i = arith.index_cast %n : index to i64 %y = arith.sitofp %i : i64 to f32 %x = arith.mulf %a, %y : f32/' %s > %t.counts.mlir
// RUN: not tp-opt %t.counts.mlir --tp-form-attention -o /dev/null 2>&1 | FileCheck %s --check-prefix=OTHER

// The backward pass of an attention whose keys travel. Chunks go around once
// more, none of the forward pass is kept. The gradient of a chunk begins at the
// rank behind its own, goes to where the chunk has not been, and what is done
// with each key's gradient, here a product with a number, is done before.

// FORM:         %[[K1:.*]] = tp.permute %[[K0:.*]] sources [2, 0, 1] over <#{{.*}}, ["cp"]> : tensor<1x2x3x4xf32>
// FORM-COUNT-3: tp.attend %
// FORM:         %[[B1:.*]] = tp.permute %[[K0]] sources [2, 0, 1] over {{.*}} {tp.ring}
// FORM:         %[[G0:.*]], %[[GK0:.*]], %[[GV0:.*]] = tp.attend_backward %[[Q:.*]], %[[K0]], %{{.*}} bias %{{.*}} from %[[GO:.*]] lse %[[LSE:.*]] delta %[[D:.*]] scale 5.000000e-01 pairs 9 : {{.*}} -> (tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x3xf32>)
// FORM:         %[[B2:.*]] = tp.permute %[[B1]]
// FORM:         %[[G1:[^,]*]], %{{.*}} = tp.attend_backward %[[Q]], %[[B1]], %{{.*}} bias %{{.*}} from %[[GO]] lse %[[LSE]] delta %[[D]] onto %[[G0]]
// FORM:         tp.attend_backward %[[Q]], %[[B2]], {{.*}} onto %[[G1]]
// FORM-NOT:     tp.reduce_scatter

// A chunk's sum is where the one before it was.
// MEMORY:       tp.attention_backward {{.*}} delta %{{[^ ]*}} into %[[SUM0:[0-9]+]],
// MEMORY:       %[[SUM1:[0-9]+]] = tp.alloc at 0 : memref<1x2x3x4xf32>
// MEMORY:       tp.attention_backward {{.*}} onto %[[SUM0]] into %[[SUM1]],
// MEMORY:       %[[SUM2:[0-9]+]] = tp.alloc at 0 : memref<1x2x3x4xf32>
// MEMORY:       tp.attention_backward {{.*}} onto %[[SUM1]] into %[[SUM2]],

// EQUAL-DAG: o: equal
// EQUAL-DAG: gq: equal
// EQUAL-DAG: gk: equal
// EQUAL-DAG: gv: equal

// OTHER: error: expected keys or values that only one attention reads, which is a softmax of products of queries and keys, times values

#mesh = #tp.mesh<"cp" = 3>
#rows_of = #tp.layout<#mesh, [shard<1>]>
#id = affine_map<(h, i, j) -> (h, i, j)>
#rows = affine_map<(h, i, j) -> (h, i)>
module attributes {tp.mesh = #mesh} {
  func.func @main(
      %q: tensor<2x3x4xf32> {tp.name = "q", tp.global_type = tensor<2x9x4xf32>, tp.layout = #rows_of},
      %k: tensor<2x3x4xf32> {tp.name = "k", tp.global_type = tensor<2x9x4xf32>, tp.layout = #rows_of},
      %v: tensor<2x3x3xf32> {tp.name = "v", tp.global_type = tensor<2x9x3xf32>, tp.layout = #rows_of},
      %go: tensor<2x3x3xf32> {tp.name = "go", tp.global_type = tensor<2x9x3xf32>, tp.layout = #rows_of})
      -> (tensor<2x3x3xf32> {tp.name = "o", tp.global_type = tensor<2x9x3xf32>, tp.layout = #rows_of},
          tensor<2x3x4xf32> {tp.name = "gq", tp.global_type = tensor<2x9x4xf32>, tp.layout = #rows_of},
          tensor<2x3x4xf32> {tp.name = "gk", tp.global_type = tensor<2x9x4xf32>, tp.layout = #rows_of},
          tensor<2x3x3xf32> {tp.name = "gv", tp.global_type = tensor<2x9x3xf32>, tp.layout = #rows_of}) {
    %zero = arith.constant 0.0 : f32
    %half = arith.constant 0.5 : f32
    %factor = arith.constant 3.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %e3 = tensor.empty() : tensor<2x3x9xf32>
    %e2 = tensor.empty() : tensor<2x3xf32>
    %z3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<2x3x9xf32>) -> tensor<2x3x9xf32>
    %z2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<2x3xf32>) -> tensor<2x3xf32>
    %l2 = linalg.fill ins(%lowest : f32) outs(%e2 : tensor<2x3xf32>) -> tensor<2x3xf32>
    %e4 = tensor.empty() : tensor<2x3x4xf32>
    %z4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %ek = tensor.empty() : tensor<2x9x4xf32>
    %zk = linalg.fill ins(%zero : f32) outs(%ek : tensor<2x9x4xf32>) -> tensor<2x9x4xf32>
    %ev = tensor.empty() : tensor<2x3x3xf32>
    %zv = linalg.fill ins(%zero : f32) outs(%ev : tensor<2x3x3xf32>) -> tensor<2x3x3xf32>
    %ew = tensor.empty() : tensor<2x9x3xf32>
    %zw = linalg.fill ins(%zero : f32) outs(%ew : tensor<2x9x3xf32>) -> tensor<2x9x3xf32>
    %keys = tp.all_gather %k dim 1 over <#mesh, ["cp"]> {tp.ring} : tensor<2x3x4xf32> -> tensor<2x9x4xf32>
    %values = tp.all_gather %v dim 1 over <#mesh, ["cp"]> {tp.ring} : tensor<2x3x3xf32> -> tensor<2x9x3xf32>

    // Forward: scores, weights, result.
    %ekt = tensor.empty() : tensor<2x4x9xf32>
    %kt = linalg.transpose ins(%keys : tensor<2x9x4xf32>) outs(%ekt : tensor<2x4x9xf32>) permutation = [0, 2, 1]
    %s = linalg.batch_matmul ins(%q, %kt : tensor<2x3x4xf32>, tensor<2x4x9xf32>) outs(%z3 : tensor<2x3x9xf32>) -> tensor<2x3x9xf32>
    %scaled = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s : tensor<2x3x9xf32>) outs(%e3 : tensor<2x3x9xf32>) {
    ^bb0(%a: f32, %o: f32):
      %x = arith.mulf %a, %half : f32
      linalg.yield %x : f32
    } -> tensor<2x3x9xf32>
    %most = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "parallel", "reduction"]} ins(%scaled : tensor<2x3x9xf32>) outs(%l2 : tensor<2x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %x = arith.maximumf %a, %o : f32
      linalg.yield %x : f32
    } -> tensor<2x3xf32>
    %exponentials = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%scaled, %most : tensor<2x3x9xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3x9xf32>) {
    ^bb0(%a: f32, %m: f32, %o: f32):
      %x = arith.subf %a, %m : f32
      %y = math.exp %x : f32
      linalg.yield %y : f32
    } -> tensor<2x3x9xf32>
    %total = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "parallel", "reduction"]} ins(%exponentials : tensor<2x3x9xf32>) outs(%z2 : tensor<2x3xf32>) {
    ^bb0(%a: f32, %o: f32):
      %x = arith.addf %a, %o : f32
      linalg.yield %x : f32
    } -> tensor<2x3xf32>
    %p = linalg.generic {indexing_maps = [#id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%exponentials, %total : tensor<2x3x9xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3x9xf32>) {
    ^bb0(%a: f32, %t: f32, %o: f32):
      %x = arith.divf %a, %t : f32
      linalg.yield %x : f32
    } -> tensor<2x3x9xf32>
    %o = linalg.batch_matmul ins(%p, %values : tensor<2x3x9xf32>, tensor<2x9x3xf32>) outs(%zv : tensor<2x3x3xf32>) -> tensor<2x3x3xf32>

    // Backward: p * dp - p * sum (p * dp).
    %ept = tensor.empty() : tensor<2x9x3xf32>
    %pt = linalg.transpose ins(%p : tensor<2x3x9xf32>) outs(%ept : tensor<2x9x3xf32>) permutation = [0, 2, 1]
    %gvs = linalg.batch_matmul ins(%pt, %go : tensor<2x9x3xf32>, tensor<2x3x3xf32>) outs(%zw : tensor<2x9x3xf32>) -> tensor<2x9x3xf32>
    %gv = tp.reduce_scatter sum %gvs dim 1 over <#mesh, ["cp"]> : tensor<2x9x3xf32> -> tensor<2x3x3xf32>
    %evt = tensor.empty() : tensor<2x3x9xf32>
    %vt = linalg.transpose ins(%values : tensor<2x9x3xf32>) outs(%evt : tensor<2x3x9xf32>) permutation = [0, 2, 1]
    %dp = linalg.batch_matmul ins(%go, %vt : tensor<2x3x3xf32>, tensor<2x3x9xf32>) outs(%z3 : tensor<2x3x9xf32>) -> tensor<2x3x9xf32>
    %product = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%dp, %p : tensor<2x3x9xf32>, tensor<2x3x9xf32>) outs(%e3 : tensor<2x3x9xf32>) {
    ^bb0(%a: f32, %b: f32, %c: f32):
      %x = arith.mulf %a, %b : f32
      linalg.yield %x : f32
    } -> tensor<2x3x9xf32>
    %mean = linalg.generic {indexing_maps = [#id, #rows], iterator_types = ["parallel", "parallel", "reduction"]} ins(%product : tensor<2x3x9xf32>) outs(%z2 : tensor<2x3xf32>) {
    ^bb0(%a: f32, %c: f32):
      %x = arith.addf %a, %c : f32
      linalg.yield %x : f32
    } -> tensor<2x3xf32>
    %ds = linalg.generic {indexing_maps = [#id, #id, #rows, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%product, %p, %mean : tensor<2x3x9xf32>, tensor<2x3x9xf32>, tensor<2x3xf32>) outs(%e3 : tensor<2x3x9xf32>) {
    ^bb0(%a: f32, %b: f32, %m: f32, %c: f32):
      %x = arith.mulf %b, %m : f32
      %y = arith.subf %a, %x : f32
      %w = arith.mulf %y, %half : f32
      linalg.yield %w : f32
    } -> tensor<2x3x9xf32>
    %gq = linalg.batch_matmul ins(%ds, %keys : tensor<2x3x9xf32>, tensor<2x9x4xf32>) outs(%z4 : tensor<2x3x4xf32>) -> tensor<2x3x4xf32>
    %dt = linalg.transpose ins(%ds : tensor<2x3x9xf32>) outs(%ept : tensor<2x9x3xf32>) permutation = [0, 2, 1]
    %gkp = linalg.batch_matmul ins(%dt, %q : tensor<2x9x3xf32>, tensor<2x3x4xf32>) outs(%zk : tensor<2x9x4xf32>) -> tensor<2x9x4xf32>
    %gks = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%gkp : tensor<2x9x4xf32>) outs(%ek : tensor<2x9x4xf32>) {
    ^bb0(%a: f32, %c: f32):
      %x = arith.mulf %a, %factor : f32
      linalg.yield %x : f32
    } -> tensor<2x9x4xf32>
    %gk = tp.reduce_scatter sum %gks dim 1 over <#mesh, ["cp"]> : tensor<2x9x4xf32> -> tensor<2x3x4xf32>
    return %o, %gq, %gk, %gv : tensor<2x3x3xf32>, tensor<2x3x4xf32>, tensor<2x3x4xf32>, tensor<2x3x3xf32>
  }
}
