//===- Passes.td - passes of Transforms/Export -------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_EXPORT_PASSES_TD
#define TP_TRANSFORMS_EXPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def LowerToMPI : Pass<"tp-lower-to-mpi", "::mlir::ModuleOp"> {
  let summary = "Make a rank's program one of upstream's dialects alone";
  let description = [{
    The input is the program that `tp-partition` or `tp-bucket-collectives`
    leaves. Collectives and `tp.axis_index` become ops of upstream's `mpi`, and
    all attributes of tp are dropped, so that the program goes on in any pipeline
    of MLIR. docs/mpi.md has one, down to a program that mpirun starts.

    The rest of the program stays on tensors. Messages have buffers of their own
    (`memref.alloc`), which tensors are copied into
    (`bufferization.materialize_in_destination`) and read from
    (`bufferization.to_tensor`). So upstream's `one-shot-bufferize` follows, with
    every option it has, and `buffer-deallocation-pipeline` frees the buffers.
    Buffers of messages have one dimension, because upstream's lowering of `mpi`
    counts the elements of the first one alone.

    | op | becomes |
    |---|---|
    | `tp.all_reduce` over all ranks: sums and products of f32, f64 and integers of 8 to 64 bits, max and min of these integers | `mpi.allreduce` |
    | every other collective | `mpi.send` and `mpi.recv` between every two ranks of a group, and local ops on what they receive |
    | `tp.axis_index` | a number of a table, at the result of `mpi.comm_rank` |

    Messages run over all ranks' communicator, whatever groups there are, because
    no op of upstream's frees a communicator. Collectives that are made of
    messages combine the ranks' numbers in the order of the group, narrow floats
    in f32, as tp's runtime does; an average of f64 is summed up in f64. MPI adds
    up in an order of its own: such sums are equal to tp's within rounding. The
    max and min of floats are made of messages, because MPI's do not say what they
    do with NaN. Elements that MPI has no type for (bf16, f16, 8-bit floats, i1,
    index) are sent as integers.

    A function that has collectives or asks for its position first finds out how
    many ranks there are. Unless they are as many as the mesh has, it ends with a
    failed `cf.assert`. The caller has called `MPI_Init`.

    Arguments are marked as not writable (`bufferization.writable`), because
    weights are used again in the next step.

    What upstream's lowering of `mpi` calls depends on the library: `MPICH` and
    `OpenMPI` differ. The option `implementation` sets it in the attribute
    `dlti.map` of the module. Without the option the attribute stays as it is.

    It is an error if an op or a layout of an earlier stage is left, if the ops
    are on different meshes, if ranks combine what has no such reduction (sums of
    i1, averages of integers), and if a block has more than 2^31 - 1 elements.

    ```mlir
    // tp-opt --tp-lower-to-mpi=implementation=OpenMPI
    #mesh = #tp.mesh<"tp" = 2>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
        %y = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4xf32> -> tensor<4xf32>
        return %y : tensor<4xf32>
      }
    }
    ```
    becomes
    ```mlir
    module attributes {dlti.map = #dlti.map<"MPI:Implementation" = "OpenMPI">} {
      func.func @main(%arg0: tensor<4xf32> {bufferization.writable = false}) -> tensor<4xf32> {
        %0 = mpi.comm_world : !mpi.comm
        %rank = mpi.comm_rank(%0) : i32
        %1 = arith.index_cast %rank : i32 to index
        %alloca = memref.alloca() : memref<1xi32>
        %c0 = arith.constant 0 : index
        memref.store %rank, %alloca[%c0] : memref<1xi32>
        mpi.allreduce(%alloca, %alloca, MPI_MAX, %0) : memref<1xi32>, memref<1xi32>
        %2 = memref.load %alloca[%c0] : memref<1xi32>
        %c1_i32 = arith.constant 1 : i32
        %3 = arith.cmpi eq, %2, %c1_i32 : i32
        cf.assert %3, "the program is for 2 ranks, expected mpirun to start as many"
        %alloc = memref.alloc() : memref<4xf32>
        bufferization.materialize_in_destination %arg0 in restrict writable %alloc : (tensor<4xf32>, memref<4xf32>) -> ()
        mpi.allreduce(%alloc, %alloc, MPI_SUM, %0) : memref<4xf32>, memref<4xf32>
        %4 = bufferization.to_tensor %alloc restrict writable : memref<4xf32> to tensor<4xf32>
        return %4 : tensor<4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"implementation", "implementation", "std::string", "\"\"",
           "The library that upstream's lowering of mpi is for: MPICH or OpenMPI">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::bufferization::BufferizationDialect",
                           "::mlir::cf::ControlFlowDialect",
                           "::mlir::DLTIDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::memref::MemRefDialect",
                           "::mlir::mpi::MPIDialect",
                           "::mlir::scf::SCFDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // TP_TRANSFORMS_EXPORT_PASSES_TD
