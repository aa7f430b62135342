//===- Passes.td - passes of Transforms/Partition ----------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_PARTITION_PASSES_TD
#define TP_TRANSFORMS_PARTITION_PASSES_TD

include "mlir/Pass/PassBase.td"

def Partition : Pass<"tp-partition", "::mlir::ModuleOp"> {
  let summary = "Make the program that every rank runs";
  let description = [{
    Shapes become those of a rank's buffers and layouts disappear from the
    types. Every op is made anew by its `createLocal` (its sharding rule's);
    collectives keep what they do; local slices and local partial values become
    plain ops on `tp.axis_index`.

    Arguments and results keep their layout as `tp.layout` and their unsharded
    type as `tp.global_type`. Ops keep `tp.values`: per result the value's id,
    its layout and its global type, which only the simulator and
    `tp-verify-partitioned` read.

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%x: tensor<4x8xf32, #tp.layout<#mesh, [shard<1>]>>) -> tensor<4x8xf32, #tp.layout<#mesh, [replicate]>> {
        %y = tp.all_gather %x dim 1 over <#mesh, ["tp"]> : tensor<4x8xf32, #tp.layout<#mesh, [shard<1>]>> -> tensor<4x8xf32, #tp.layout<#mesh, [replicate]>>
        return %y : tensor<4x8xf32, #tp.layout<#mesh, [replicate]>>
      }
    }
    ```
    becomes
    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%arg0: tensor<4x2xf32> {tp.global_type = tensor<4x8xf32>, tp.layout = #tp.layout<#mesh, [shard<1>]>}) -> (tensor<4x8xf32> {tp.global_type = tensor<4x8xf32>, tp.layout = #tp.layout<#mesh, [replicate]>}) {
        %0 = tp.all_gather %arg0 dim 1 over <#mesh, ["tp"]> : tensor<4x2xf32> -> tensor<4x8xf32>
        return %0 : tensor<4x8xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::tp::TPDialect", "::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def VerifyPartitioned : Pass<"tp-verify-partitioned", "::mlir::ModuleOp"> {
  let summary = "Check that types are plain and local shapes right";
  let description = [{
    The exit contract of `tp-partition`: no layout in any type, none of tp's ops
    but `tp.axis_index` and collectives, and every argument, result and value of
    known layout has the shape that the layout says.
  }];
}

#endif // TP_TRANSFORMS_PARTITION_PASSES_TD
