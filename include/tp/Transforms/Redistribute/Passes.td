//===- Passes.td - passes of Transforms/Redistribute -------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_REDISTRIBUTE_PASSES_TD
#define TP_TRANSFORMS_REDISTRIBUTE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Materialize : Pass<"tp-materialize", "::mlir::ModuleOp"> {
  let summary = "Put the chosen layouts into the types";
  let description = [{
    Takes what `tp-propagate` left as attributes. In one step every tensor type
    gets its layout as encoding, and wherever a use needs another layout than
    the value has, a `tp.redistribute` is inserted before it, shared by all uses
    of the value that need the same. Where the replicated value is needed too,
    shards are cut from that. A layout that a pin asks for and that nobody uses
    before the value is brought to the next one is left out: a gather and the
    slice that undoes it are nothing, a reduce_scatter and the all_gather after
    it one all_reduce. (An all_reduce and a slice stay: a plan that pins partial
    values replicated is promised the all_reduce.) `tp.constrain` disappears; `tp.values` numbers every value
    for the simulator.

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%x: tensor<4x8xf32> {tp.layout = #tp.layout<#mesh, [shard<1>]>}) -> (tensor<4x4xf32> {tp.layout = #tp.layout<#mesh, [replicate]>}) {
        %y = tensor.extract_slice %x[0, 2] [4, 4] [1, 1] {tp.result_layouts = [#tp.layout<#mesh, [shard<0>]>], tp.strategy = #tp.strategy<#mesh, [split<0>]>} : tensor<4x8xf32> to tensor<4x4xf32>
        return %y : tensor<4x4xf32>
      }
    }
    ```
    becomes
    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%arg0: tensor<4x8xf32, #tp.layout<#mesh, [shard<1>]>> {tp.layout = #tp.layout<#mesh, [shard<1>]>}) -> (tensor<4x4xf32, #tp.layout<#mesh, [replicate]>> {tp.layout = #tp.layout<#mesh, [replicate]>}) {
        %0 = tp.redistribute %arg0 {tp.reason = "[shard<0>] for tensor.extract_slice", tp.values = [{id = 0 : i64} ]} : tensor<4x8xf32, #tp.layout<#mesh, [shard<1>]>> to tensor<4x8xf32, #tp.layout<#mesh, [shard<0>]>>
        %extracted_slice = tensor.extract_slice %0[0, 2] [4, 4] [1, 1] {tp.result_layouts = [#tp.layout<#mesh, [shard<0>]>], tp.strategy = #tp.strategy<#mesh, [split<0>]>, tp.values = [{id = 1 : i64} ]} : tensor<4x8xf32, #tp.layout<#mesh, [shard<0>]>> to tensor<4x4xf32, #tp.layout<#mesh, [shard<0>]>>
        %1 = tp.redistribute %extracted_slice {tp.reason = "[replicate] as a result of the function", tp.values = [{id = 2 : i64} ]} : tensor<4x4xf32, #tp.layout<#mesh, [shard<0>]>> to tensor<4x4xf32, #tp.layout<#mesh, [replicate]>>
        return %1 : tensor<4x4xf32, #tp.layout<#mesh, [replicate]>>
      }
    }
    ```
  }];
  let dependentDialects = ["::tp::TPDialect"];
}

def VerifyMaterialized : Pass<"tp-verify-materialized", "::mlir::ModuleOp"> {
  let summary = "Check that all types carry layouts and all ops fit theirs";
  let description = [{
    The exit contract of `tp-materialize`: every ranked tensor has a layout;
    every op's strategy is legal for its rule, and operand and result layouts
    are those the strategy asks for; no `tensor.cast` changes a layout; no
    `tp.constrain` is left.
  }];
}

def InsertCollectives : Pass<"tp-insert-collectives", "::mlir::ModuleOp"> {
  let summary = "Turn every layout change into collectives";
  let description = [{
    Each `tp.redistribute` becomes the collectives and local steps that lead
    from one layout to the other. There is a way between any two layouts, and
    the one taken is the cheapest: by the bytes a rank sends, in blocks with
    their padding, and 1 KiB per collective; then by bytes copied locally; then
    by the number of steps. docs/redistribution.md says how it is found.

    It may lead through layouts that neither side speaks of: buffers change
    places by permute, axes are used in parts, shards go to another dimension
    and back, ranks that all have a value divide the work. What is reduced and
    nothing else is one all_reduce. Steps of one kind that follow each other are
    one over the combined group. Where axes are partial of different kinds, the
    later ones in mesh order combine first.

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    func.func @main(%p: tensor<4x4xf32, #tp.layout<#mesh, [partial<sum>]>>) -> tensor<4x4xf32, #tp.layout<#mesh, [shard<0>]>> {
      %y = tp.redistribute %p : tensor<4x4xf32, #tp.layout<#mesh, [partial<sum>]>> to tensor<4x4xf32, #tp.layout<#mesh, [shard<0>]>>
      return %y : tensor<4x4xf32, #tp.layout<#mesh, [shard<0>]>>
    }
    ```
    becomes
    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    module {
      func.func @main(%arg0: tensor<4x4xf32, #tp.layout<#mesh, [partial<sum>]>>) -> tensor<4x4xf32, #tp.layout<#mesh, [shard<0>]>> {
        %0 = tp.reduce_scatter sum %arg0 dim 0 over <#mesh, ["tp"]> : tensor<4x4xf32, #tp.layout<#mesh, [partial<sum>]>> -> tensor<4x4xf32, #tp.layout<#mesh, [shard<0>]>>
        return %0 : tensor<4x4xf32, #tp.layout<#mesh, [shard<0>]>>
      }
    }
    ```
  }];
  let dependentDialects = ["::tp::TPDialect"];
}

def VerifyCollectives : Pass<"tp-verify-collectives", "::mlir::ModuleOp"> {
  let summary = "Check that no tp.redistribute is left";
  let description = [{
    The exit contract of `tp-insert-collectives`, on top of that of
    `tp-materialize`.
  }];
}

#endif // TP_TRANSFORMS_REDISTRIBUTE_PASSES_TD
