// RUN: tp-opt %s --split-input-file --tp-lower-to-mpi --verify-diagnostics | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-lower-to-mpi --verify-diagnostics -o %t
// RUN: not grep 'tp\.\|#tp' %t
// RUN: mlir-opt %t --split-input-file -o /dev/null
// RUN: not tp-opt %S/Inputs/empty.mlir --tp-lower-to-mpi=implementation=mpich 2>&1 | FileCheck %s --check-prefix=LIBRARY
// RUN: tp-opt %S/Inputs/empty.mlir --tp-lower-to-mpi=implementation=MPICH | FileCheck %s --check-prefix=MPICH

// LIBRARY: error: implementation is 'mpich', expected MPICH or OpenMPI
// The entries of others stay.
// MPICH: dlti.map = #dlti.map<"other" = 1 : i32, "MPI:Implementation" = "MPICH">

// The sum over all ranks is MPI's, in place. The ranks check their number first.
// CHECK-LABEL: func.func @world_sum
// CHECK-SAME: (%[[X:.*]]: tensor<2x3xf32> {bufferization.writable = false}) -> tensor<2x3xf32>
// CHECK: %[[WORLD:.*]] = mpi.comm_world
// CHECK: %[[RANK:.*]] = mpi.comm_rank(%[[WORLD]]) : i32
// CHECK: %[[LAST:.*]] = memref.alloca() : memref<1xi32>
// CHECK: memref.store %[[RANK]], %[[LAST]]
// CHECK: mpi.allreduce(%[[LAST]], %[[LAST]], MPI_MAX, %[[WORLD]])
// CHECK: %[[EXPECTED:.*]] = arith.constant 3 : i32
// CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %{{.*}}, %[[EXPECTED]]
// CHECK: cf.assert %[[IS_LAST]], "the program is for 4 ranks, expected mpirun to start as many"
// CHECK: %[[FLAT:.*]] = tensor.collapse_shape %[[X]] {{\[\[}}0, 1]] : tensor<2x3xf32> into tensor<6xf32>
// CHECK: %[[BUFFER:.*]] = memref.alloc() : memref<6xf32>
// CHECK: bufferization.materialize_in_destination %[[FLAT]] in restrict writable %[[BUFFER]]
// CHECK: mpi.allreduce(%[[BUFFER]], %[[BUFFER]], MPI_SUM, %[[WORLD]]) : memref<6xf32>, memref<6xf32>
// CHECK: %[[SUM:.*]] = bufferization.to_tensor %[[BUFFER]] restrict writable
// CHECK: tensor.expand_shape %[[SUM]]
#mesh = #tp.mesh<"a" = 2, "b" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @world_sum(%x: tensor<2x3xf32> {tp.name = "x"}) -> (tensor<2x3xf32> {tp.name = "y"}) {
    %y = tp.all_reduce sum %x over <#mesh, ["a", "b"]> {tp.reason = "one"} : tensor<2x3xf32> -> tensor<2x3xf32>
    return %y : tensor<2x3xf32>
  }
}

// -----

// Rank groups on one of two axes: messages to ranks of a table, the lower position sends first.
// CHECK-LABEL: func.func @group_gather
// CHECK: %[[POSITIONS:.*]] = arith.constant dense<[0, 0, 1, 1]> : tensor<4xindex>
// CHECK: %[[OWN:.*]] = tensor.extract %[[POSITIONS]]
// CHECK: scf.for
// CHECK: scf.if
// CHECK: %[[MEMBERS:.*]] = arith.constant dense<{{\[\[}}0, 2], [1, 3], [0, 2], [1, 3]]> : tensor<4x2xindex>
// CHECK: tensor.extract %[[MEMBERS]]
// CHECK: scf.if
// CHECK-NEXT: mpi.send
// CHECK-NEXT: mpi.recv
// CHECK: else
// CHECK-NEXT: mpi.recv
// CHECK-NEXT: mpi.send
#mesh = #tp.mesh<"a" = 2, "b" = 2>
func.func @group_gather(%x: tensor<3xf32>) -> tensor<6xf32> {
  %y = tp.all_gather %x dim 0 over <#mesh, ["a"]> : tensor<3xf32> -> tensor<6xf32>
  return %y : tensor<6xf32>
}

// -----

// The sum of a group is not that of all ranks.
// CHECK-LABEL: func.func @group_sum
// CHECK-NOT: MPI_SUM
// CHECK: linalg.reduce { arith.addf }
// CHECK-NOT: MPI_SUM
// CHECK: return
#mesh = #tp.mesh<"a" = 2, "b" = 2>
func.func @group_sum(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = tp.all_reduce sum %x over <#mesh, ["b"]> : tensor<4xf32> -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// MPI has no bf16 and its max does not say what NaN does: sent as integers, combined here in f32.
// CHECK-LABEL: func.func @narrow_max
// CHECK-NOT: MPI_MAX, %{{.*}}bf16
// CHECK: arith.bitcast {{.*}} : bf16 to i16
// CHECK: mpi.send({{.*}}) : memref<2xi16
// CHECK: arith.bitcast {{.*}} : i16 to bf16
// CHECK: arith.extf {{.*}} : bf16 to f32
// CHECK: linalg.reduce { arith.maximumf }
// CHECK: arith.truncf {{.*}} : f32 to bf16
#mesh = #tp.mesh<"a" = 2>
func.func @narrow_max(%x: tensor<3xbf16>) -> tensor<3xbf16> {
  %y = tp.all_reduce max %x over <#mesh, ["a"]> : tensor<3xbf16> -> tensor<3xbf16>
  return %y : tensor<3xbf16>
}

// -----

// Block q goes to position q. The blocks of another dimension than the first are moved together.
// CHECK-LABEL: func.func @exchange
// CHECK: %[[RANK:.*]] = arith.index_cast
// CHECK: linalg.transpose {{.*}} permutation = [1, 0, 2]
// CHECK: %[[SENT:.*]] = memref.alloc() : memref<6xf32>
// CHECK: %[[RECEIVED:.*]] = memref.alloc() : memref<6xf32>
// CHECK: %[[FROM:.*]] = arith.muli %[[RANK]], %{{.*}}
// CHECK: %[[OWN:.*]] = memref.subview %[[SENT]][%[[FROM]]] [2] [1]
// CHECK: %[[TO:.*]] = arith.muli %[[RANK]], %{{.*}}
// CHECK: %[[KEPT:.*]] = memref.subview %[[RECEIVED]][%[[TO]]] [2] [1]
// CHECK: memref.copy %[[OWN]], %[[KEPT]]
// CHECK: scf.for %[[ROUND:.*]] = %{{.*}} to %{{.*}} step
// CHECK: %[[LATER:.*]] = arith.addi %[[ROUND]], %[[SIZE:.*]] : index
// CHECK: %[[DISTANCE:.*]] = arith.subi %[[LATER]], %[[RANK]]
// CHECK: %[[PARTNER:.*]] = arith.remui %[[DISTANCE]], %[[SIZE]]
// CHECK: %[[IS_OTHER:.*]] = arith.cmpi ne, %[[PARTNER]], %[[RANK]]
// CHECK: scf.if %[[IS_OTHER]]
// CHECK: memref.subview %[[SENT]][
// CHECK: memref.subview %[[RECEIVED]][
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi ult, %[[RANK]], %[[PARTNER]]
// CHECK: scf.if %[[IS_FIRST]]
// CHECK: bufferization.to_tensor %[[RECEIVED]]
#mesh = #tp.mesh<"a" = 3>
func.func @exchange(%x: tensor<2x3xf32>) -> tensor<6x1xf32> {
  %y = tp.all_to_all %x split 1 concat 0 over <#mesh, ["a"]> : tensor<2x3xf32> -> tensor<6x1xf32>
  return %y : tensor<6x1xf32>
}

// -----

// A rank sends to the partner that reads from it, and receives from the one it reads from.
// CHECK-LABEL: func.func @permute
// CHECK: %[[RANK:.*]] = arith.index_cast
// CHECK: %[[SOURCES:.*]] = arith.constant dense<[1, 2, 0]> : tensor<3xindex>
// CHECK: %[[OWN:.*]] = tensor.extract %[[SOURCES]][%[[RANK]]]
// CHECK: %[[KEEPS:.*]] = arith.cmpi eq, %[[OWN]], %[[RANK]]
// CHECK: scf.if %[[KEEPS]]
// CHECK: memref.copy
// CHECK: %[[PARTNER:.*]] = arith.remui
// CHECK: %[[OTHERS:.*]] = tensor.extract %[[SOURCES]][%[[PARTNER]]]
// CHECK: %[[IS_SENT:.*]] = arith.cmpi eq, %[[OTHERS]], %[[RANK]]
// CHECK: %[[IS_RECEIVED:.*]] = arith.cmpi eq, %[[OWN]], %[[PARTNER]]
// CHECK: scf.if %[[IS_SENT]]
// CHECK-NEXT: mpi.send
// CHECK: scf.if %[[IS_RECEIVED]]
// CHECK-NEXT: mpi.recv
#mesh = #tp.mesh<"a" = 3>
func.func @permute(%x: tensor<5xf32>) -> tensor<5xf32> {
  %y = tp.permute %x sources [1, 2, 0] over <#mesh, ["a"]> : tensor<5xf32> -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

// An average is summed up in f64, from the first rank on, and rounded once.
// CHECK-LABEL: func.func @average
// CHECK: arith.extf {{.*}} : f32 to f64
// CHECK: %[[FIRST:.*]] = tensor.extract_slice %[[ROWS:.*]][0, 0] [1, 4]
// CHECK: %[[OTHERS:.*]] = tensor.extract_slice %[[ROWS]][1, 0] [2, 4]
// CHECK: linalg.reduce { arith.addf } ins(%[[OTHERS]] : tensor<2x4xf64>) outs(%[[FIRST]] : tensor<4xf64>) dimensions = [0]
// CHECK: %[[COUNT:.*]] = arith.constant 3.000000e+00 : f64
// CHECK: arith.divf %{{.*}}, %[[COUNT]]
// CHECK: arith.truncf {{.*}} : f64 to f32
#mesh = #tp.mesh<"a" = 3>
func.func @average(%x: tensor<2x6xf32>) -> tensor<2x2xf32> {
  %y = tp.reduce_scatter avg %x dim 1 over <#mesh, ["a"]> : tensor<2x6xf32> -> tensor<2x2xf32>
  return %y : tensor<2x2xf32>
}

// -----

// A function that no rank's number matters to is left as it is.
// CHECK-LABEL: func.func @alone
// CHECK-NOT: mpi.
// CHECK: return
func.func @alone(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}

// -----

// One rank is a group of its own, and an empty tensor is not sent.
// CHECK-LABEL: func.func @nothing_to_send
// CHECK-NOT: mpi.send
// CHECK: return %{{.*}}, %{{.*}} : tensor<3xf32>, tensor<0x2xf32>
#mesh = #tp.mesh<"a" = 2, "b" = 1>
func.func @nothing_to_send(%x: tensor<3xf32>, %e: tensor<0x2xf32>) -> (tensor<3xf32>, tensor<0x2xf32>) {
  %y = tp.all_reduce max %x over <#mesh, ["b"]> : tensor<3xf32> -> tensor<3xf32>
  %z = tp.all_reduce max %e over <#mesh, ["a"]> : tensor<0x2xf32> -> tensor<0x2xf32>
  return %y, %z : tensor<3xf32>, tensor<0x2xf32>
}

// -----

#mesh = #tp.mesh<"a" = 2>
// expected-error@+1 {{has a layout in type 'tensor<4xf32, #tp.layout<<"a" = 2>, [partial<sum>]>>', expected plain types; run tp-partition first}}
func.func @before_partition(%x: tensor<4xf32, #tp.layout<#mesh, [partial<sum>]>>) {
  return
}

// -----

#mesh = #tp.mesh<"a" = 2>
func.func @constrained(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'tp.constrain' op is left, expected none but collectives and tp.axis_index; run tp-partition first}}
  %y = tp.constrain %x on "a" of #mesh to shard<0> view [4] at "m" "output" : tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @two_meshes() -> (index, index) {
  %i = tp.axis_index over <<"a" = 2>, ["a"]> : index
  // expected-error@+1 {{is on the mesh #tp.mesh<"a" = 4>, expected #tp.mesh<"a" = 2> as the ops before it}}
  %j = tp.axis_index over <<"a" = 4>, ["a"]> : index
  return %i, %j : index, index
}

// -----

func.func @sum_of_truths(%x: tensor<4xi1>) -> tensor<4xi1> {
  // expected-error@+1 {{'tp.all_reduce' op combines elements of type 'i1' by sum, which has no lowering to mpi}}
  %y = tp.all_reduce sum %x over <<"a" = 2>, ["a"]> : tensor<4xi1> -> tensor<4xi1>
  return %y : tensor<4xi1>
}

// -----

func.func @average_of_integers(%x: tensor<4xi32>) -> tensor<4xi32> {
  // expected-error@+1 {{'tp.all_reduce' op combines elements of type 'i32' by avg, which has no lowering to mpi}}
  %y = tp.all_reduce avg %x over <<"a" = 2>, ["a"]> : tensor<4xi32> -> tensor<4xi32>
  return %y : tensor<4xi32>
}

// -----

func.func @long_integers(%x: tensor<4xi128>) -> tensor<8xi128> {
  // expected-error@+1 {{'tp.all_gather' op sends elements of type 'i128', expected floats or signless integers of 1, 8, 16, 32 or 64 bits, or index}}
  %y = tp.all_gather %x dim 0 over <<"a" = 2>, ["a"]> : tensor<4xi128> -> tensor<8xi128>
  return %y : tensor<8xi128>
}

// -----

func.func @too_many(%x: tensor<2147483648xi8>) -> tensor<2147483648xi8> {
  // expected-error@+1 {{'tp.all_reduce' op has 2147483648 elements, expected at most 2147483647, the most that MPI counts in one message}}
  %y = tp.all_reduce sum %x over <<"a" = 2>, ["a"]> : tensor<2147483648xi8> -> tensor<2147483648xi8>
  return %y : tensor<2147483648xi8>
}
