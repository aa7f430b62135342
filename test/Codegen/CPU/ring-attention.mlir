// RUN: tp-opt %s --tp-form-attention | FileCheck %s --check-prefix=FORM
// RUN: tp-opt %s --tp-form-attention --tp-assign-storage --tp-form-kernels --tp-plan-memory -o %t.planned.mlir
// RUN: FileCheck %s < %t.planned.mlir
// RUN: tp-opt %t.planned.mlir --tp-cpu-compile=output=%t.tp -o /dev/null
// RUN: tp-opt %s --tp-assign-storage --tp-form-kernels --tp-plan-memory --tp-cpu-compile=output=%t.products.tp -o /dev/null
// RUN: %python %S/../../EndToEnd/Inputs/write_npy.py %t.q.npy=2,32,4 %t.k.npy=2,4,32 %t.v.npy=2,32,4
// RUN: tp-run %t.products.tp --ranks=4 --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --output=o=@%t.o.npy
// RUN: tp-run %t.tp --ranks=4 --poison --input=q=@%t.q.npy --input=k=@%t.k.npy --input=v=@%t.v.npy --expected-output=o=@%t.o.npy | FileCheck %s --check-prefix=EQUAL
// RUN: not tp-opt %s --tp-form-attention=target=cuda -o /dev/null 2>&1 | FileCheck %s --check-prefix=CUDA

// Keys and values travel: after its own chunk a rank attends to those of the
// ranks before it, one after the other. What its queries see of a chunk are two
// numbers for each, and a state is where the one before it was.

// FORM-NOT:     tp.all_gather
// FORM:         %[[K1:.*]] = tp.permute %[[K0:.*]] sources [3, 0, 1, 2] over <#{{.*}}, ["cp"]> : tensor<1x2x8x4xf32>
// FORM:         %[[V1:.*]] = tp.permute %[[V0:.*]] sources [3, 0, 1, 2] over
// FORM:         %[[S0:.*]] = tp.attend %[[Q:.*]], %[[K0]], %[[V0]] bias %{{.*}} scale 1.000000e+00 pairs {{.*}} -> tensor<1x2x8x6xf32>
// FORM:         %[[K2:.*]] = tp.permute %[[K1]]
// FORM:         %[[V2:.*]] = tp.permute %[[V1]]
// FORM:         %[[S1:.*]] = tp.attend %[[Q]], %[[K1]], %[[V1]] bias %{{.*}} onto %[[S0]] scale
// FORM:         %[[K3:.*]] = tp.permute %[[K2]]
// FORM:         %[[V3:.*]] = tp.permute %[[V2]]
// FORM:         %[[S2:.*]] = tp.attend %[[Q]], %[[K2]], %[[V2]] bias %{{.*}} onto %[[S1]] scale
// FORM-NOT:     tp.permute
// FORM:         tp.attend %[[Q]], %[[K3]], %[[V3]] bias %{{.*}} onto %[[S2]] scale
// FORM-NOT:     tp.attend

// CHECK-NOT:     tp.all_gather
// CHECK:         %[[STATE0:.*]] = tp.alloc at [[AT:.*]] : memref<1x2x8x6xf32>
// CHECK:         tp.attention %{{.*}} bias %{{.*}} into %[[STATE0]] partial scale 1.000000e+00
// CHECK:         %[[STATE1:.*]] = tp.alloc at [[AT]] : memref<1x2x8x6xf32>
// CHECK:         tp.attention %{{.*}} bias %{{.*}} onto %[[STATE0]] into %[[STATE1]] partial

// EQUAL: o: equal, f32[2, 32, 4], {{.*}} on 4 ranks

// CUDA: error: keys and values that travel from rank to rank ('rotate' = "ring") are not handled by the CUDA target; write "gather"

#mesh = #tp.mesh<"cp" = 4>
#layout = #tp.layout<#mesh, [shard<1>]>
#id = affine_map<(h, i, j) -> (h, i, j)>
#rows = affine_map<(h, i, j) -> (h, i)>
module attributes {tp.mesh = #mesh} {
  func.func @main(
      %q: tensor<2x8x4xf32> {tp.name = "q", tp.global_type = tensor<2x32x4xf32>, tp.layout = #layout},
      %k: tensor<2x4x8xf32> {tp.name = "k", tp.global_type = tensor<2x4x32xf32>, tp.layout = #tp.layout<#mesh, [shard<2>]>},
      %v: tensor<2x8x4xf32> {tp.name = "v", tp.global_type = tensor<2x32x4xf32>, tp.layout = #layout})
      -> (tensor<2x8x4xf32> {tp.name = "o", tp.global_type = tensor<2x32x4xf32>, tp.layout = #layout}) {
    %zero = arith.constant 0.0 : f32
    %lowest = arith.constant 0xFF800000 : f32
    %c8 = arith.constant 8 : index
    %keys = tp.all_gather %k dim 2 over <#mesh, ["cp"]> {tp.ring} : tensor<2x4x8xf32> -> tensor<2x4x32xf32>
    %values = tp.all_gather %v dim 1 over <#mesh, ["cp"]> {tp.ring} : tensor<2x8x4xf32> -> tensor<2x32x4xf32>

    // What a query sees: the rank's part of the positions, and pieces that hide the last three keys.
    %rank = tp.axis_index over <#mesh, ["cp"]> : index
    %begin = arith.muli %rank, %c8 : index
    %ep = tensor.empty() : tensor<32xi64>
    %positions = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%ep : tensor<32xi64>) {
    ^bb0(%o: i64):
      %i = linalg.index 0 : index
      %n = arith.index_cast %i : index to i64
      linalg.yield %n : i64
    } -> tensor<32xi64>
    %mine = tensor.extract_slice %positions[%begin] [8] [1] : tensor<32xi64> to tensor<8xi64>
    %true = arith.constant true
    %ef = tensor.empty() : tensor<32xi1>
    %all = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>], iterator_types = ["parallel"]} outs(%ef : tensor<32xi1>) {
    ^bb0(%o: i1):
      linalg.yield %true : i1
    } -> tensor<32xi1>
    %none = arith.constant dense<false> : tensor<3xi1>
    %kept = tensor.insert_slice %none into %all[29] [3] [1] : tensor<3xi1> into tensor<32xi1>
    %em = tensor.empty() : tensor<8x32xi1>
    %sees = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%mine, %positions, %kept : tensor<8xi64>, tensor<32xi64>, tensor<32xi1>) outs(%em : tensor<8x32xi1>) {
    ^bb0(%row: i64, %column: i64, %keep: i1, %o: i1):
      %before = arith.cmpi sle, %column, %row : i64
      %both = arith.andi %before, %keep : i1
      linalg.yield %both : i1
    } -> tensor<8x32xi1>

    %es = tensor.empty() : tensor<2x8x32xf32>
    %fs = linalg.fill ins(%zero : f32) outs(%es : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
    %s = linalg.batch_matmul ins(%q, %keys : tensor<2x8x4xf32>, tensor<2x4x32xf32>) outs(%fs : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
    %masked = linalg.generic {indexing_maps = [#id, affine_map<(h, i, j) -> (i, j)>, #id], iterator_types = ["parallel", "parallel", "parallel"]} ins(%s, %sees : tensor<2x8x32xf32>, tensor<8x32xi1>) outs(%es : tensor<2x8x32xf32>) {
    ^bb0(%a: f32, %b: i1, %o: f32):
      %y = arith.select %b, %a, %lowest : f32
      linalg.yield %y : f32
    } -> tensor<2x8x32xf32>
    %er = tensor.empty() : tensor<2x8xf32>
    %fm = linalg.fill ins(%lowest : f32) outs(%er : tensor<2x8xf32>) -> tensor<2x8xf32>
    %m = linalg.reduce { arith.maximumf } ins(%masked : tensor<2x8x32xf32>) outs(%fm : tensor<2x8xf32>) dimensions = [2]
    %mb = linalg.broadcast ins(%m : tensor<2x8xf32>) outs(%es : tensor<2x8x32xf32>) dimensions = [2]
    %d = linalg.sub ins(%masked, %mb : tensor<2x8x32xf32>, tensor<2x8x32xf32>) outs(%es : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
    %x = linalg.exp ins(%d : tensor<2x8x32xf32>) outs(%es : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
    %fl = linalg.fill ins(%zero : f32) outs(%er : tensor<2x8xf32>) -> tensor<2x8xf32>
    %l = linalg.reduce { arith.addf } ins(%x : tensor<2x8x32xf32>) outs(%fl : tensor<2x8xf32>) dimensions = [2]
    %lb = linalg.broadcast ins(%l : tensor<2x8xf32>) outs(%es : tensor<2x8x32xf32>) dimensions = [2]
    %w = linalg.div ins(%x, %lb : tensor<2x8x32xf32>, tensor<2x8x32xf32>) outs(%es : tensor<2x8x32xf32>) -> tensor<2x8x32xf32>
    %eo = tensor.empty() : tensor<2x8x4xf32>
    %fo = linalg.fill ins(%zero : f32) outs(%eo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
    %o = linalg.batch_matmul ins(%w, %values : tensor<2x8x32xf32>, tensor<2x32x4xf32>) outs(%fo : tensor<2x8x4xf32>) -> tensor<2x8x4xf32>
    return %o : tensor<2x8x4xf32>
  }
}
