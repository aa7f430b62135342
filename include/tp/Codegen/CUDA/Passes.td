//===- Passes.td - passes of Codegen/CUDA ------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_CUDA_PASSES_TD
#define TP_CODEGEN_CUDA_PASSES_TD

include "mlir/Pass/PassBase.td"

def CUDACompile : Pass<"tp-cuda-compile", "::mlir::ModuleOp"> {
  let summary = "Compile a per-rank module to GPU kernels";
  let description = [{
    Plans a module with one public function on local static shapes as the CPU
    back end does, and emits a GPU kernel for every fused kernel of the plan;
    GEMMs and collectives have none (docs/cuda-kernels.md). `show` selects the
    output: `kernels` and `lowered` replace the module by its kernels before and
    after their lowering to the llvm dialect, `launches` prints a line per kernel,
    `ptx` the assembly for `chip`, `manifest` the manifest of an artifact. `host`
    writes the kernels, compiled for this machine, as a shared object that runs
    without a GPU; with `accesses` these kernels report every access to memory.

    ```mlir
    // tp-opt --tp-cuda-compile=show=launches
    func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
      %0 = tensor.empty() : tensor<6xf32>
      %y = linalg.exp ins(%x : tensor<6xf32>) outs(%0 : tensor<6xf32>) -> tensor<6xf32>
      return %y : tensor<6xf32>
    }
    ```
    prints
    ```text
    {"block":[128,1,1],"buffers":[{"bytes":24,"index":0,"offset":0,"space":"argument"},{"bytes":24,"index":0,"offset":0,"space":"result"} ],"bytes":48,"flops":6,"function":"tp_kernel_0","grid":[2,1,1],"scratch_bytes":0,"shared_bytes":0}
    ```
  }];
  let options = [
    Option<"show", "show", "std::string", "",
           "'kernels', 'lowered', 'launches', 'ptx' or 'manifest'">,
    Option<"chip", "chip", "std::string", "\"sm_90\"",
           "The GPU: 'sm_80', 'sm_90' or 'sm_100'">,
    Option<"host", "host", "std::string", "",
           "Where to write the kernels for this machine">,
    Option<"accesses", "accesses", "bool", "false",
           "Kernels for this machine report what they access">,
  ];
}

def MapKernels : Pass<"tp-map-kernels", "::mlir::ModuleOp"> {
  let summary = "Decide how the loops of kernels lie on the threads of a device";
  let description = [{
    Every `tp.kernel` of a program gets `tp.mapping`, from what it reads and
    writes side by side, what it reduces, and how much a device can do at once
    (docs/cuda-kernels.md):

    | field | of | meaning |
    |---|---|---|
    | `kind` | all | `pointwise`: a thread per packet. `tiles`: a block per tile of two loops. `rows`: a group of threads per row. `columns`: a reduction over the rows of a matrix |
    | `block` | all | threads of a block |
    | `vectors` | all | per loop nest, the elements of a packet at most: what one access takes |
    | `packets` | all but tiles | packets that a thread has in flight |
    | `group` | rows, columns | threads that share a row, or warps that share columns |
    | `split` | rows, columns | blocks that share a row, or columns |
    | `held` | rows | per loop nest, whether what it computes stays in registers |
    | `loop`, `tile` | tiles | the loop that is read along, and the elements of a tile along a loop |

    A mapping that a kernel has already is kept. It is an error if the kernel does
    not allow it: packets wider than addresses are aligned, a group of threads for
    a reduction that no group can do, a tile that is too large.

    Bytes of scratch and shared memory are no part of it: they are what the code
    of the kernel turns out to need.

    ```mlir
    func.func @main(%x: memref<6xf32>) -> memref<6xf32> {
      %0 = tp.alloc : memref<6xf32>
      tp.kernel reads(%x : memref<6xf32>) writes(%0 : memref<6xf32>) {
      ^bb0(%arg0: memref<6xf32>, %arg1: memref<6xf32>):
        %1 = bufferization.to_tensor %arg0 : memref<6xf32> to tensor<6xf32>
        %2 = tensor.empty() : tensor<6xf32>
        %3 = linalg.exp ins(%1 : tensor<6xf32>) outs(%2 : tensor<6xf32>) -> tensor<6xf32>
        %4 = tp.compute %3 into %arg1 : tensor<6xf32> into memref<6xf32>
      }
      return %0 : memref<6xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<6xf32>) -> memref<6xf32> {
        %0 = tp.alloc : memref<6xf32>
        tp.kernel reads(%arg0 : memref<6xf32>) writes(%0 : memref<6xf32>) {
        ^bb0(%arg1: memref<6xf32>, %arg2: memref<6xf32>):
          %1 = bufferization.to_tensor %arg1 : memref<6xf32> to tensor<6xf32>
          %2 = tensor.empty() : tensor<6xf32>
          %3 = linalg.exp ins(%1 : tensor<6xf32>) outs(%2 : tensor<6xf32>) -> tensor<6xf32>
          %4 = tp.compute %3 into %arg2 : tensor<6xf32> into memref<6xf32>
        } {tp.mapping = {block = 128 : i64, kind = "pointwise", packets = 1 : i64, vectors = array<i64: 4>}}
        return %0 : memref<6xf32>
      }
    }
    ```
  }];
}

def CUDAReductionTypes : Pass<"tp-cuda-reduction-types", "::mlir::ModuleOp"> {
  let summary = "Reduce over ranks in types that NCCL has";
  let description = [{
    Maxima and minima of floats become those of integers that order in the same
    way, NaN included; sums of f8 become sums of f32, and numbers of i16 become
    i32. What the collective gives is turned back (docs/cuda.md).

    ```mlir
    #mesh = #tp.mesh<"tp" = 2>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%x: tensor<4xi16>) -> tensor<4xi16> {
        %y = tp.all_reduce sum %x over <#mesh, ["tp"]> : tensor<4xi16> -> tensor<4xi16>
        return %y : tensor<4xi16>
      }
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0) -> (d0)>
    #mesh = #tp.mesh<"tp" = 2>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%arg0: tensor<4xi16>) -> tensor<4xi16> {
        %0 = tensor.empty() : tensor<4xi32>
        %1 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%arg0 : tensor<4xi16>) outs(%0 : tensor<4xi32>) {
        ^bb0(%in: i16, %out: i32):
          %5 = arith.extsi %in : i16 to i32
          linalg.yield %5 : i32
        } -> tensor<4xi32>
        %2 = tp.all_reduce sum %1 over <#mesh, ["tp"]> : tensor<4xi32> -> tensor<4xi32>
        %3 = tensor.empty() : tensor<4xi16>
        %4 = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel"]} ins(%2 : tensor<4xi32>) outs(%3 : tensor<4xi16>) {
        ^bb0(%in: i32, %out: i16):
          %5 = arith.trunci %in : i32 to i16
          linalg.yield %5 : i16
        } -> tensor<4xi16>
        return %4 : tensor<4xi16>
      }
    }
    ```
  }];
}

#endif // TP_CODEGEN_CUDA_PASSES_TD
