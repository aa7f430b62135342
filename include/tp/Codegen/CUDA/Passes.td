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
