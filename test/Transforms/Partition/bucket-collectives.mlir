// RUN: tp-opt %s -split-input-file --tp-bucket-collectives --tp-verify-partitioned | FileCheck %s
// RUN: tp-opt %s -split-input-file --tp-bucket-collectives=hardware=h100 --tp-verify-partitioned \
// RUN:   | FileCheck %s --check-prefix=H100

// Shapes are rows of one buffer; reasons are put together, each once; values
// keep their names; what waits for a member comes after, in its order.
#mesh = #tp.mesh<"dp" = 2, "tp" = 4>
#R = #tp.layout<#mesh, [replicate, replicate]>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @all_reduce(
  // CHECK-SAME: %[[X:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<2x3xf32>, %[[Z:.*]]: tensor<f32>)
  func.func @all_reduce(%x: tensor<8xf32>, %y: tensor<2x3xf32>, %z: tensor<f32>) -> (tensor<8xf32>, tensor<2x3xf32>, tensor<f32>) {
    // CHECK-DAG: %[[A:.*]] = tensor.expand_shape %[[X]] {{.*}} into tensor<1x8xf32>
    // CHECK-DAG: %[[BFLAT:.*]] = tensor.collapse_shape %{{.*}} : tensor<2x3xf32> into tensor<6xf32>
    // CHECK-DAG: %[[B:.*]] = tensor.expand_shape %[[BFLAT]] {{.*}} into tensor<1x6xf32>
    // CHECK-DAG: %[[CFLAT:.*]] = tensor.expand_shape %[[Z]] [] {{.*}} into tensor<1xf32>
    // CHECK-DAG: %[[C:.*]] = tensor.expand_shape %[[CFLAT]] {{.*}} into tensor<1x1xf32>
    // CHECK: %[[ROWS:.*]] = tensor.concat dim(1) %[[A]], %[[B]], %[[C]] : {{.*}} -> tensor<1x15xf32>
    // CHECK: %[[SUM:.*]] = tp.all_reduce sum %[[ROWS]] over <#mesh, ["tp"]> {tp.payload_elements = 14 : i64, tp.reason = "one; two"} : tensor<1x15xf32> -> tensor<1x15xf32>
    // CHECK: %[[A2:.*]] = tensor.extract_slice %[[SUM]][0, 0] [1, 8] [1, 1]
    // CHECK: %[[RA:.*]] = tensor.collapse_shape %[[A2]] {{.*}} {tp.values = [{id = 7 : i64, layout = {{.*}}, type = tensor<8xf32>}]} : tensor<1x8xf32> into tensor<8xf32>
    // CHECK: %[[B2:.*]] = tensor.extract_slice %[[SUM]][0, 8] [1, 6] [1, 1]
    // CHECK: tensor.collapse_shape %[[B2]]
    // CHECK: %[[RB:.*]] = tensor.expand_shape {{.*}} into tensor<2x3xf32>
    // CHECK: %[[C2:.*]] = tensor.extract_slice %[[SUM]][0, 14] [1, 1] [1, 1]
    // CHECK: tensor.collapse_shape %[[C2]]
    // CHECK: %[[RC:.*]] = tensor.collapse_shape {{.*}} into tensor<f32>
    // CHECK: %[[W:.*]] = arith.addf %[[RA]], %[[X]]
    // CHECK: %[[V:.*]] = arith.mulf %[[W]], %[[W]]
    // CHECK: return %[[V]], %[[RB]], %[[RC]]
    %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> {tp.reason = "one", tp.payload_elements = 7, tp.values = [{id = 7, layout = #R, type = tensor<8xf32>}]} : tensor<8xf32> -> tensor<8xf32>
    %1 = arith.addf %0, %x : tensor<8xf32>
    %2 = arith.mulf %1, %1 : tensor<8xf32>
    %twice = arith.addf %y, %y : tensor<2x3xf32>
    %3 = tp.all_reduce sum %twice over <#mesh, ["tp"]> {tp.reason = "two"} : tensor<2x3xf32> -> tensor<2x3xf32>
    %4 = tp.all_reduce sum %z over <#mesh, ["tp"]> {tp.reason = "one"} : tensor<f32> -> tensor<f32>
    return %2, %3, %4 : tensor<8xf32>, tensor<2x3xf32>, tensor<f32>
  }

  // What is cut or joined along a dimension has its blocks as rows.
  // CHECK-LABEL: func.func @other_kinds(
  // CHECK-SAME: %[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<8x3xf32>)
  func.func @other_kinds(%x: tensor<4x8xf32>, %y: tensor<8x3xf32>) -> (tensor<4x32xf32>, tensor<32x3xf32>, tensor<4x2xf32>, tensor<2x3xf32>, tensor<16x2xf32>, tensor<2x12xf32>, tensor<4x8xf32>, tensor<8x3xf32>) {
    // CHECK: tensor.concat dim(1) {{.*}} : (tensor<1x32xf32>, tensor<1x24xf32>) -> tensor<1x56xf32>
    // CHECK: %[[G:.*]] = tp.all_gather %{{.*}} dim 0 {{.*}} : tensor<1x56xf32> -> tensor<4x56xf32>
    // CHECK: tensor.extract_slice %[[G]][0, 0] [4, 32]
    // CHECK: tensor.expand_shape {{.*}} into tensor<4x4x8xf32>
    // CHECK: linalg.transpose {{.*}} permutation = [1, 0, 2]
    // CHECK: tensor.expand_shape {{.*}} into tensor<4x32xf32>
    // CHECK: tensor.extract_slice %[[G]][0, 32] [4, 24]
    // CHECK-NOT: linalg.transpose
    // CHECK: tensor.expand_shape {{.*}} into tensor<32x3xf32>
    %0 = tp.all_gather %x dim 1 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x32xf32>
    %1 = tp.all_gather %y dim 0 over <#mesh, ["tp"]> : tensor<8x3xf32> -> tensor<32x3xf32>
    // CHECK: linalg.transpose {{.*}} permutation = [1, 0, 2]
    // CHECK: tensor.concat dim(1) {{.*}} : (tensor<4x8xf32>, tensor<4x6xf32>) -> tensor<4x14xf32>
    // CHECK: tp.reduce_scatter max %{{.*}} dim 0 {{.*}} : tensor<4x14xf32> -> tensor<1x14xf32>
    %2 = tp.reduce_scatter max %x dim 1 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x2xf32>
    %3 = tp.reduce_scatter max %y dim 0 over <#mesh, ["tp"]> : tensor<8x3xf32> -> tensor<2x3xf32>
    // CHECK: tp.all_to_all %{{.*}} split 0 concat 1 {{.*}} : tensor<4x1x14xf32> -> tensor<1x4x14xf32>
    %4 = tp.all_to_all %x split 1 concat 0 over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<16x2xf32>
    %5 = tp.all_to_all %y split 0 concat 1 over <#mesh, ["tp"]> : tensor<8x3xf32> -> tensor<2x12xf32>
    // CHECK: tp.permute %{{.*}} sources [1, 2, 3, 0] {{.*}} : tensor<1x56xf32> -> tensor<1x56xf32>
    %6 = tp.permute %x sources [1, 2, 3, 0] over <#mesh, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
    %7 = tp.permute %y sources [1, 2, 3, 0] over <#mesh, ["tp"]> : tensor<8x3xf32> -> tensor<8x3xf32>
    return %0, %1, %2, %3, %4, %5, %6, %7 : tensor<4x32xf32>, tensor<32x3xf32>, tensor<4x2xf32>, tensor<2x3xf32>, tensor<16x2xf32>, tensor<2x12xf32>, tensor<4x8xf32>, tensor<8x3xf32>
  }

  // Of another reduction, group, element type or permutation.
  // CHECK-LABEL: func.func @unlike(
  // CHECK-NOT: tensor.concat
  // CHECK: return
  func.func @unlike(%x: tensor<8xf32>, %n: tensor<8xi32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %1 = tp.all_reduce max %x over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %2 = tp.all_reduce sum %x over <#mesh, ["dp"]> : tensor<8xf32> -> tensor<8xf32>
    %3 = tp.all_reduce sum %n over <#mesh, ["tp"]> : tensor<8xi32> -> tensor<8xi32>
    %4 = tp.permute %x sources [1, 2, 3, 0] over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %5 = tp.permute %x sources [1, 0, 3, 2] over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    return %0, %1, %2, %3, %4, %5 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xi32>, tensor<8xf32>, tensor<8xf32>
  }

  // One depends on the other; what else is there goes into the first bucket
  // that is closed.
  // CHECK-LABEL: func.func @dependent(
  // CHECK: tp.all_reduce sum {{.*}} : tensor<1x16xf32> -> tensor<1x16xf32>
  // CHECK: arith.mulf
  // CHECK: tp.all_reduce sum {{.*}} : tensor<8xf32> -> tensor<8xf32>
  func.func @dependent(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %1 = arith.mulf %0, %0 : tensor<8xf32>
    %2 = tp.all_reduce sum %y over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %3 = tp.all_reduce sum %1 over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    return %2, %3 : tensor<8xf32>, tensor<8xf32>
  }

  // Of each pair neither depends on the other, but both pairs cannot be one.
  // CHECK-LABEL: func.func @crossed(
  // CHECK: tp.all_reduce sum {{.*}} : tensor<8xf32>
  // CHECK: tp.all_reduce max {{.*}} : tensor<1x16xf32>
  // CHECK: tp.all_reduce sum {{.*}} : tensor<8xf32>
  func.func @crossed(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %a = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %b = tp.all_reduce max %a over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %c = tp.all_reduce max %y over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %d = tp.all_reduce sum %c over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    return %b, %d : tensor<8xf32>, tensor<8xf32>
  }

  // A bucket of another kind is sent before the one whose members need it.
  // CHECK-LABEL: func.func @in_turn(
  // CHECK: tp.all_reduce sum {{.*}} : tensor<1x16xf32>
  // CHECK: tp.all_reduce max {{.*}} : tensor<1x16xf32>
  // CHECK: return
  func.func @in_turn(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %a = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %b = tp.all_reduce max %a over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %c = tp.all_reduce sum %y over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %d = tp.all_reduce max %c over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    return %b, %d : tensor<8xf32>, tensor<8xf32>
  }

  // Neither of the two has anybody beside it: nothing moves.
  // CHECK-LABEL: func.func @alone(
  // CHECK-NEXT: tp.all_reduce sum
  // CHECK-NEXT: arith.mulf
  // CHECK-NEXT: arith.addf
  // CHECK-NEXT: tp.all_reduce max
  // CHECK-NEXT: return
  func.func @alone(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
    %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %1 = arith.mulf %0, %0 : tensor<8xf32>
    %2 = arith.addf %x, %x : tensor<8xf32>
    %3 = tp.all_reduce max %2 over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    return %1, %3 : tensor<8xf32>, tensor<8xf32>
  }
}

// -----

// What is large does not wait, and takes with it whoever is there.
#mesh = #tp.mesh<"tp" = 4>
#id = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (i)>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @large_reader(
  // CHECK: tp.all_reduce sum {{.*}} : tensor<1x12xf32>
  // CHECK: linalg.generic
  // CHECK: } -> tensor<4x65536xf32>
  // CHECK: arith.negf
  // CHECK: tp.all_reduce sum {{.*}} : tensor<1x16xf32>
  // CHECK: return
  func.func @large_reader(%x: tensor<4xf32>, %y: tensor<8xf32>, %large: tensor<4x65536xf32>) -> (tensor<4x65536xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
    %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4xf32> -> tensor<4xf32>
    %1 = tp.all_reduce sum %y over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %2 = linalg.generic {indexing_maps = [#column, #id], iterator_types = ["parallel", "parallel"]} ins(%0 : tensor<4xf32>) outs(%large : tensor<4x65536xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4x65536xf32>
    %3 = arith.negf %1 : tensor<8xf32>
    %4 = tp.all_reduce sum %3 over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    %5 = tp.all_reduce sum %y over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    return %2, %3, %4, %5 : tensor<4x65536xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
  }

  // Nor does what reads something large, which would live longer.
  // CHECK-LABEL: func.func @reads_large(
  // CHECK: tp.all_reduce sum {{.*}} : tensor<4xf32>
  // CHECK: linalg.generic
  // CHECK: tp.all_reduce sum {{.*}} : tensor<8xf32>
  func.func @reads_large(%x: tensor<4xf32>, %y: tensor<8xf32>, %large: tensor<4x65536xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
    %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4xf32> -> tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [#id, #column], iterator_types = ["parallel", "reduction"]} ins(%large : tensor<4x65536xf32>) outs(%0 : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %s = arith.addf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<4xf32>
    %2 = tp.all_reduce sum %y over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    return %1, %2 : tensor<4xf32>, tensor<8xf32>
  }

  // Checks are made in the order of the program.
  // CHECK-LABEL: func.func @check(
  // CHECK: tp.all_reduce sum {{.*}} : tensor<4xf32>
  // CHECK: cf.assert
  // CHECK: tp.all_reduce sum {{.*}} : tensor<8xf32>
  func.func @check(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
    %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4xf32> -> tensor<4xf32>
    %e = tensor.empty() : tensor<4xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%0 : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%a: f32, %b: f32):
      %ok = arith.cmpf oeq, %a, %a : f32
      cf.assert %ok, "not a number"
      linalg.yield %a : f32
    } -> tensor<4xf32>
    %2 = tp.all_reduce sum %y over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    return %1, %2 : tensor<4xf32>, tensor<8xf32>
  }

  // What a body reads of its surroundings counts.
  // CHECK-LABEL: func.func @captured(
  // CHECK: %[[SUM:.*]] = tp.all_reduce sum {{.*}} : tensor<1x12xf32>
  // CHECK: linalg.generic
  // CHECK: tensor.extract
  // CHECK: return
  func.func @captured(%x: tensor<4xf32>, %y: tensor<8xf32>, %i: tensor<3xindex>) -> (tensor<3xf32>, tensor<8xf32>) {
    %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4xf32> -> tensor<4xf32>
    %e = tensor.empty() : tensor<3xf32>
    %1 = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%i : tensor<3xindex>) outs(%e : tensor<3xf32>) {
    ^bb0(%at: index, %b: f32):
      %v = tensor.extract %0[%at] : tensor<4xf32>
      linalg.yield %v : f32
    } -> tensor<3xf32>
    %2 = tp.all_reduce sum %y over <#mesh, ["tp"]> : tensor<8xf32> -> tensor<8xf32>
    return %1, %2 : tensor<3xf32>, tensor<8xf32>
  }
}

// -----

// In the time of a latency a device sends 3.2 MB, and reads or writes 24 MB. Two gathers that send
// 6 MB each and read and write 20 MB for the buffer are joined; one that reads and writes 30 MB is not.
// A machine that copies no faster than it sends joins none.
#mesh = #tp.mesh<"dp" = 4>
module attributes {tp.mesh = #mesh} {
  // CHECK-LABEL: func.func @copies(
  // CHECK: tp.all_gather {{.*}} -> tensor<2000000xf32>
  // CHECK: tp.all_gather {{.*}} -> tensor<3000000xf32>
  // CHECK: tp.all_gather {{.*}} -> tensor<2000000xf32>
  // H100-LABEL: func.func @copies(
  // H100: tp.all_gather {{.*}} -> tensor<3000000xf32>
  // H100: tp.all_gather {{.*}} -> tensor<4x1000000xf32>
  // H100-NOT: tp.all_gather
  // H100: return
  func.func @copies(%x: tensor<500000xf32>, %y: tensor<750000xf32>, %z: tensor<500000xf32>) -> (tensor<2000000xf32>, tensor<3000000xf32>, tensor<2000000xf32>) {
    %0 = tp.all_gather %x dim 0 over <#mesh, ["dp"]> : tensor<500000xf32> -> tensor<2000000xf32>
    %1 = tp.all_gather %y dim 0 over <#mesh, ["dp"]> : tensor<750000xf32> -> tensor<3000000xf32>
    %2 = tp.all_gather %z dim 0 over <#mesh, ["dp"]> : tensor<500000xf32> -> tensor<2000000xf32>
    return %0, %1, %2 : tensor<2000000xf32>, tensor<3000000xf32>, tensor<2000000xf32>
  }
}
