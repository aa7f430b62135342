//===- MemoryPasses.td - passes on the memory of programs --*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Passes on a rank's program: which memory results have, what of it is written,
// and where it is. Passes.td includes them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_MEMORYPASSES_TD
#define TP_CODEGEN_MEMORYPASSES_TD

include "mlir/Pass/PassBase.td"

def RecomputeElements : Pass<"tp-recompute-elements", "::mlir::ModuleOp"> {
  let summary = "Compute elements again that the backward pass would keep";
  let description = [{
    A value that is computed element by element, and that ops of the forward and
    of the backward pass read, is computed again in the backward pass (locations
    `bwd:MODULE`), if what that reads is kept there anyway, or takes fewer bytes.
    An element may cost 64 operations, where an exponential function counts 16.
    The copies read `tp.kept`, which no clean-up sees through. A value that the
    backward pass needs in memory, such as an operand of a product, may cost 12
    operations, and what is kept for it a sixteenth of its bytes.

    So of `gelu(x)` the step keeps `x`, which its derivative reads, and not the
    error function of it; and of what is computed from widened bf16 the bf16.

    ```mlir
    #map = affine_map<(d0) -> (d0)>
    func.func @main(%x: tensor<4xf32>, %dy: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
      %0 = tensor.empty() : tensor<4xf32>
      %e = linalg.exp ins(%x : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32> loc("m"("exp"))
      %y = linalg.add ins(%e, %x : tensor<4xf32>, tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32> loc("m"("add"))
      %dx = linalg.mul ins(%e, %dy : tensor<4xf32>, tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32> loc("bwd:m"("mul"))
      return %y, %dx : tensor<4xf32>, tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
        %0 = tensor.empty() : tensor<4xf32>
        %1 = linalg.exp ins(%arg0 : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
        %2 = linalg.add ins(%1, %arg0 : tensor<4xf32>, tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
        %3 = tp.kept %arg0 : tensor<4xf32>
        %4 = linalg.exp ins(%3 : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
        %5 = linalg.mul ins(%4, %arg1 : tensor<4xf32>, tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
        return %2, %5 : tensor<4xf32>, tensor<4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
  let statistics = [
    Statistic<"numRepeated", "num-repeated", "Values computed again">,
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

def UpdateInPlace : Pass<"tp-update-in-place", "::mlir::ModuleOp"> {
  let summary = "Put results into the memory of the arguments that they update";
  let description = [{
    A result that updates an argument (`tp.updates`, kinds `new_X`) is put into
    the argument's memory: its allocation gets `in` with the argument. Then the
    state stays where it is, and no step copies it.

    That is right if no command reads the argument after the result is written. A
    command that does both reads each element before it writes the one in its
    place. Where a command that reads the argument comes later in the text, it must
    not need what the one that writes the result computes. tp-schedule, which has
    to come after this pass, moves the latter behind the former.

    Else the result has memory of its own, and `tp.copied` on it is the reason: it
    is copied to the argument at the end of the step. Two states that are swapped
    need one copy. An argument that no command reads is left alone.

    `target` is `cpu` or `cuda`.

    ```mlir
    func.func @main(%p: memref<6xf32> {tp.name = "p"}, %g: memref<6xf32>) -> (memref<6xf32> {tp.updates = "p"}) {
      %0 = tp.alloc : memref<6xf32>
      tp.kernel reads(%p, %g : memref<6xf32>, memref<6xf32>) writes(%0 : memref<6xf32>) {
      ^bb0(%arg0: memref<6xf32>, %arg1: memref<6xf32>, %arg2: memref<6xf32>):
        %1 = bufferization.to_tensor %arg0 : memref<6xf32> to tensor<6xf32>
        %2 = bufferization.to_tensor %arg1 : memref<6xf32> to tensor<6xf32>
        %3 = tensor.empty() : tensor<6xf32>
        %4 = linalg.sub ins(%1, %2 : tensor<6xf32>, tensor<6xf32>) outs(%3 : tensor<6xf32>) -> tensor<6xf32>
        %5 = tp.compute %4 into %arg2 : tensor<6xf32> into memref<6xf32>
      }
      return %0 : memref<6xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<6xf32> {tp.name = "p"}, %arg1: memref<6xf32>) -> (memref<6xf32> {tp.updates = "p"}) {
        %0 = tp.alloc in %arg0 of memref<6xf32> : memref<6xf32>
        tp.kernel reads(%arg0, %arg1 : memref<6xf32>, memref<6xf32>) writes(%0 : memref<6xf32>) {
        ^bb0(%arg2: memref<6xf32>, %arg3: memref<6xf32>, %arg4: memref<6xf32>):
          %1 = bufferization.to_tensor %arg2 : memref<6xf32> to tensor<6xf32>
          %2 = bufferization.to_tensor %arg3 : memref<6xf32> to tensor<6xf32>
          %3 = tensor.empty() : tensor<6xf32>
          %4 = linalg.sub ins(%1, %2 : tensor<6xf32>, tensor<6xf32>) outs(%3 : tensor<6xf32>) -> tensor<6xf32>
          %5 = tp.compute %4 into %arg4 : tensor<6xf32> into memref<6xf32>
        }
        return %0 : memref<6xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
}

def WriteParts : Pass<"tp-write-parts", "::mlir::ModuleOp"> {
  let summary = "Compute only the elements of a state that a step changes";
  let description = [{
    A result in the memory of the argument that it updates has the argument's
    elements there already. Where all others are in a box whose size is known, the
    compute loop runs over the box alone, wherever it is: a step writes as many
    bytes of a cache as it adds, however long the cache is.

    That is a `tensor.insert_slice` into the argument, at a place that may be known
    at run time only, and a select between new elements and the argument's where an
    index equals a scalar, as exporters write a static cache. On a rank with a
    shard of the cache, the place may be in another shard: then it writes nothing.

    The compute loop gets a kernel of its own. What its kernel computes for it from
    other elements is computed again, unless it is a reduction; then, and where the
    rest of the kernel reads the argument as well as the result, the loop stays. It
    stays with a `cf.assert` in a body too, which has to run for all elements.

    For `target=cuda` nothing changes: there kernels write whole results.

    ```mlir
    func.func @main(%new: memref<2xf32>, %at: memref<i64>, %cache: memref<2x8xf32> {tp.name = "cache"}) -> (memref<2x8xf32> {tp.updates = "cache"}) {
      %0 = tp.alloc in %cache of memref<2x8xf32> : memref<2x8xf32>
      tp.kernel reads(%new, %at, %cache : memref<2xf32>, memref<i64>, memref<2x8xf32>) writes(%0 : memref<2x8xf32>) {
      ^bb0(%arg0: memref<2xf32>, %arg1: memref<i64>, %arg2: memref<2x8xf32>, %arg3: memref<2x8xf32>):
        %1 = bufferization.to_tensor %arg0 : memref<2xf32> to tensor<2xf32>
        %2 = bufferization.to_tensor %arg1 : memref<i64> to tensor<i64>
        %3 = bufferization.to_tensor %arg2 : memref<2x8xf32> to tensor<2x8xf32>
        %4 = tensor.empty() : tensor<2x8xf32>
        %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
            ins(%1, %2, %3 : tensor<2xf32>, tensor<i64>, tensor<2x8xf32>) outs(%4 : tensor<2x8xf32>) {
        ^bb1(%n: f32, %p: i64, %old: f32, %o: f32):
          %7 = linalg.index 1 : index
          %8 = arith.index_cast %7 : index to i64
          %9 = arith.cmpi eq, %8, %p : i64
          %10 = arith.select %9, %n, %old : f32
          linalg.yield %10 : f32
        } -> tensor<2x8xf32>
        %6 = tp.compute %5 into %arg3 : tensor<2x8xf32> into memref<2x8xf32>
      }
      return %0 : memref<2x8xf32>
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0, d1) -> (d0)>
    #map1 = affine_map<(d0, d1) -> ()>
    #map2 = affine_map<(d0, d1) -> (d0, d1)>
    module {
      func.func @main(%arg0: memref<2xf32>, %arg1: memref<i64>, %arg2: memref<2x8xf32> {tp.name = "cache"}) -> (memref<2x8xf32> {tp.updates = "cache"}) {
        %0 = tp.alloc in %arg2 of memref<2x8xf32> : memref<2x8xf32>
        tp.kernel reads(%arg0, %arg1, %arg2 : memref<2xf32>, memref<i64>, memref<2x8xf32>) writes(%0 : memref<2x8xf32>) {
        ^bb0(%arg3: memref<2xf32>, %arg4: memref<i64>, %arg5: memref<2x8xf32>, %arg6: memref<2x8xf32>):
          %1 = bufferization.to_tensor %arg3 : memref<2xf32> to tensor<2xf32>
          %2 = bufferization.to_tensor %arg4 : memref<i64> to tensor<i64>
          %3 = bufferization.to_tensor %arg5 : memref<2x8xf32> to tensor<2x8xf32>
          %4 = tensor.empty() : tensor<2x8xf32>
          %5 = linalg.generic {indexing_maps = [#map, #map1, #map2, #map2], iterator_types = ["parallel", "parallel"]} ins(%1, %2, %3 : tensor<2xf32>, tensor<i64>, tensor<2x8xf32>) outs(%4 : tensor<2x8xf32>) {
          ^bb0(%in: f32, %in_0: i64, %in_1: f32, %out: f32):
            %8 = linalg.index 1 : index
            %9 = arith.index_cast %8 : index to i64
            %10 = arith.cmpi eq, %9, %in_0 : i64
            %11 = arith.select %10, %in, %in_1 : f32
            linalg.yield %11 : f32
          } -> tensor<2x8xf32>
          %extracted = tensor.extract %2[] : tensor<i64>
          %6 = arith.index_cast %extracted : i64 to index
          %7 = tp.compute %5 into %arg6 from %6 sizes [1] along [1] : tensor<2x8xf32> into memref<2x8xf32>
        }
        return %0 : memref<2x8xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PlanMemory : Pass<"tp-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every allocation and constant of a program an offset";
  let description = [{
    Allocations that no command needs at the same time share memory. A value may
    also take over the memory of an operand that its command reads last, if every
    element is read before the one in its place is written. Offsets are multiples
    of 64 bytes for the CPU and of 256 for `target=cuda`. Results and arguments
    have memory of their own.

    A device gathers the weights of a layer while it computes with those of the
    layer before: with `target=cuda` the gather of an argument has memory that no
    command uses since the gathers before it.

    Offsets that a program has already are kept if all allocations have one; an
    error tells which two overlap while both are needed.

    ```mlir
    func.func @main(%x: memref<4x4xf32>) -> memref<4x4xf32> {
      %0 = tp.alloc : memref<4x4xf32>
      tp.gemm %x, %x into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
      %1 = tp.alloc : memref<4x4xf32>
      tp.kernel reads(%0 : memref<4x4xf32>) writes(%1 : memref<4x4xf32>) {
      ^bb0(%arg0: memref<4x4xf32>, %arg1: memref<4x4xf32>):
        %3 = bufferization.to_tensor %arg0 : memref<4x4xf32> to tensor<4x4xf32>
        %4 = tensor.empty() : tensor<4x4xf32>
        %5 = linalg.exp ins(%3 : tensor<4x4xf32>) outs(%4 : tensor<4x4xf32>) -> tensor<4x4xf32>
        %6 = tp.compute %5 into %arg1 : tensor<4x4xf32> into memref<4x4xf32>
      }
      %2 = tp.alloc : memref<4x4xf32>
      tp.gemm %1, %x into %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
      return %2 : memref<4x4xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<4x4xf32>) -> memref<4x4xf32> {
        %0 = tp.alloc at 0 : memref<4x4xf32>
        tp.gemm %arg0, %arg0 into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
        %1 = tp.alloc at 0 : memref<4x4xf32>
        tp.kernel reads(%0 : memref<4x4xf32>) writes(%1 : memref<4x4xf32>) {
        ^bb0(%arg1: memref<4x4xf32>, %arg2: memref<4x4xf32>):
          %3 = bufferization.to_tensor %arg1 : memref<4x4xf32> to tensor<4x4xf32>
          %4 = tensor.empty() : tensor<4x4xf32>
          %5 = linalg.exp ins(%3 : tensor<4x4xf32>) outs(%4 : tensor<4x4xf32>) -> tensor<4x4xf32>
          %6 = tp.compute %5 into %arg2 : tensor<4x4xf32> into memref<4x4xf32>
        }
        %2 = tp.alloc : memref<4x4xf32>
        tp.gemm %1, %arg0 into %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
        return %2 : memref<4x4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
}

#endif // TP_CODEGEN_MEMORYPASSES_TD
