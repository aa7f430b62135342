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
    Shapes become those of a rank's buffers, and layouts disappear from the
    types. The `createLocal` of its sharding rule replaces every op. Collectives
    stay. Local slices and local partial values become plain ops on
    `tp.axis_index`.

    Arguments and results keep their layout as `tp.layout` and their unsharded
    type as `tp.global_type`. Ops keep `tp.values`: for every result the id of
    the value, its layout and its global type. Only the simulator and
    `tp-verify-partitioned` read them.

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
    The exit contract of `tp-partition`: there is no layout in any type and no op
    of tp but `tp.axis_index` and collectives, and every argument, result and
    value of known layout has the local shape of that layout.

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    func.func @main(%x: tensor<3xf32> {tp.layout = #tp.layout<#mesh, [shard<0>]>, tp.global_type = tensor<8xf32>}) {
      return
    }
    ```
    is refused:
    ```text
    error: 'func.func' op argument #0 is a 'tensor<3xf32>', its layout makes 'tensor<8xf32>' a 'tensor<2xf32>'
    ```
  }];
}

def BucketCollectives : Pass<"tp-bucket-collectives", "::mlir::ModuleOp"> {
  let summary = "Send small collectives together";
  let description = [{
    Puts small collectives that do not depend on each other into one, a bucket.
    They have one kind, reduction, rank group and element type. Each is a row of
    one buffer, and its result is a slice of the bucket's result. So the gradients
    of a model's norms, a vector per norm, take a few all_reduces instead of two
    per layer. The pass runs on the partitioned program, after `tp-repeat-layers`
    has unfolded the layers.

    A collective is small if the latency of its link exceeds the time in which
    its bytes are sent, or the time in which a rank reads and writes them for the
    buffer, on the machine that costs are computed for (docs/hardware.md). A bucket
    is full when its bytes take eight latencies to be sent.

    In program order, a collective joins the open bucket of its kind unless it
    depends on that bucket, directly or through another bucket. An op that reads
    the result of a member waits for the bucket if the op has no side effects and
    all values that it reads and produces are small. Before any other op the
    bucket is closed, and with it the buckets that its results go into. The bucket
    is also closed when the waiting ops keep more bytes alive than a bucket may
    hold. So no large value is computed later or lives longer than before. A
    bucket of one collective changes nothing.

    Sums are bitwise the same as before: ranks are added in the same order,
    element by element. The new collective has the fused locations of its members
    and their reasons (`tp.reason`), each once.

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%x: tensor<8xf32>, %y: tensor<2x3xf32>) -> (tensor<8xf32>, tensor<2x3xf32>) {
        %0 = tp.all_reduce sum %x over <#mesh, ["tp"]> {tp.reason = "one"} : tensor<8xf32> -> tensor<8xf32>
        %1 = arith.addf %0, %x : tensor<8xf32>
        %2 = tp.all_reduce sum %y over <#mesh, ["tp"]> {tp.reason = "two"} : tensor<2x3xf32> -> tensor<2x3xf32>
        return %1, %2 : tensor<8xf32>, tensor<2x3xf32>
      }
    }
    ```
    becomes
    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%arg0: tensor<8xf32>, %arg1: tensor<2x3xf32>) -> (tensor<8xf32>, tensor<2x3xf32>) {
        %expanded = tensor.expand_shape %arg0 [[0, 1]] output_shape [1, 8] : tensor<8xf32> into tensor<1x8xf32>
        %collapsed = tensor.collapse_shape %arg1 [[0, 1]] : tensor<2x3xf32> into tensor<6xf32>
        %expanded_0 = tensor.expand_shape %collapsed [[0, 1]] output_shape [1, 6] : tensor<6xf32> into tensor<1x6xf32>
        %concat = tensor.concat dim(1) %expanded, %expanded_0 : (tensor<1x8xf32>, tensor<1x6xf32>) -> tensor<1x14xf32>
        %0 = tp.all_reduce sum %concat over <#mesh, ["tp"]> {tp.reason = "one; two"} : tensor<1x14xf32> -> tensor<1x14xf32>
        %extracted_slice = tensor.extract_slice %0[0, 0] [1, 8] [1, 1] : tensor<1x14xf32> to tensor<1x8xf32>
        %collapsed_1 = tensor.collapse_shape %extracted_slice [[0, 1]] : tensor<1x8xf32> into tensor<8xf32>
        %extracted_slice_2 = tensor.extract_slice %0[0, 8] [1, 6] [1, 1] : tensor<1x14xf32> to tensor<1x6xf32>
        %collapsed_3 = tensor.collapse_shape %extracted_slice_2 [[0, 1]] : tensor<1x6xf32> into tensor<6xf32>
        %expanded_4 = tensor.expand_shape %collapsed_3 [[0, 1]] output_shape [2, 3] : tensor<6xf32> into tensor<2x3xf32>
        %1 = arith.addf %collapsed_1, %arg0 : tensor<8xf32>
        return %1, %expanded_4 : tensor<8xf32>, tensor<2x3xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"hardware", "hardware", "std::string", "\"default\"",
           "The machine that costs are computed for: a .json file or the name of a description that comes with tp (docs/hardware.md)">,
  ];
  let dependentDialects = ["::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

#endif // TP_TRANSFORMS_PARTITION_PASSES_TD
