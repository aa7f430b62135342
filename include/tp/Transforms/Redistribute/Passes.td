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
    Reads the attributes that `tp-propagate` left. In one step every tensor type
    gets its layout as its encoding. Wherever a use needs a layout that the value
    does not have, the pass inserts a `tp.redistribute`, which all uses of the
    value that need this layout share: before the first of them, or, if the value
    is partial and the layout is not, right behind the op that makes the value.
    So no rank holds a whole gradient until its shard is used. If the replicated
    value is needed too, shards are cut from it.

    The pass leaves out a layout that a pin asks for but that no op uses before
    the next redistribution. So a gather and the slice that undoes it disappear,
    and a reduce_scatter and the all_gather after it are one all_reduce. (An
    all_reduce and a slice stay, because tp promises the all_reduce to a plan
    that pins a partial value replicated.)

    `tp.constrain` disappears. `tp.values` numbers every value for the simulator.

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

def HoistRedistributions
    : Pass<"tp-hoist-redistributions", "::mlir::ModuleOp"> {
  let summary =
      "Redistribute once what every iteration of a loop redistributes alike";
  let description = [{
    The body of a loop that `tp-outline-loops` kept is a part that runs
    `tp.times` times. A value of it is *invariant* if it is the same in every
    iteration: an argument that the body does not update, a constant, or what an
    op without side effects computes from such values. A `tp.redistribute` of an
    invariant value that needs a collective moves, with the ops that compute the
    value, into the part before the loop. A new carried argument brings the result
    to the body, which only reads it. So the collective runs once in a step, as it
    does where the loop is unrolled. `tp-propagate` prices it so.

    The slice that an iteration takes at its own place is not invariant, and is
    redistributed where it is taken: as many bytes in all, and memory for one
    slice. A redistribution that needs no collective stays too.

    What several loops redistribute alike, from arguments that no part updates, is
    one carried argument. The part before a loop carries a redistribution of its
    own if it has one that is alike, and what runs once behind the loop reads the
    carried argument in place of redistributing again. A carried argument is
    memory for the whole step.

    Parts find what they share by its name and kind. Where the function before the
    body is no part that runs once, or lacks an argument, nothing moves.

    ```mlir
    #mesh = #tp.mesh<"tp" = 2>
    #rows = #tp.layout<#mesh, [shard<0>]>
    #whole = #tp.layout<#mesh, [replicate]>
    module attributes {tp.mesh = #mesh} {
      func.func @f(%w: tensor<4xf32, #rows> {tp.name = "w"}, %s: tensor<4xf32, #whole> {tp.name = "s", tp.kind = "carried"}) -> tensor<4xf32, #whole> {
        return %s : tensor<4xf32, #whole>
      }
      func.func @f.part0(%w: tensor<4xf32, #rows> {tp.name = "w"}, %s: tensor<4xf32, #whole> {tp.name = "s", tp.kind = "carried"}) attributes {tp.part_of = "f", tp.times = 1 : i64} {
        return
      }
      func.func @f.part1(%w: tensor<4xf32, #rows> {tp.name = "w"}, %s: tensor<4xf32, #whole> {tp.name = "s", tp.kind = "carried"}) -> (tensor<4xf32, #whole> {tp.name = "s", tp.kind = "carried", tp.updates = "s"}) attributes {tp.part_of = "f", tp.times = 9 : i64} {
        %0 = tp.redistribute %w : tensor<4xf32, #rows> to tensor<4xf32, #whole>
        %1 = arith.addf %s, %0 {tp.result_layouts = [#whole], tp.strategy = #tp.strategy<#mesh, [replicate]>} : tensor<4xf32, #whole>
        return %1 : tensor<4xf32, #whole>
      }
    }
    ```
    becomes
    ```mlir
    #mesh = #tp.mesh<"tp" = 2>
    module attributes {tp.mesh = #mesh} {
      func.func @f(%arg0: tensor<4xf32, #tp.layout<#mesh, [shard<0>]>> {tp.name = "w"}, %arg1: tensor<4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.name = "s"}, %arg2: tensor<4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.layout = #tp.layout<#mesh, [replicate]>, tp.name = "f: hoisted 0"}) -> tensor<4xf32, #tp.layout<#mesh, [replicate]>> {
        return %arg1 : tensor<4xf32, #tp.layout<#mesh, [replicate]>>
      }
      func.func @f.part0(%arg0: tensor<4xf32, #tp.layout<#mesh, [shard<0>]>> {tp.name = "w"}, %arg1: tensor<4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.name = "s"}, %arg2: tensor<4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.layout = #tp.layout<#mesh, [replicate]>, tp.name = "f: hoisted 0"}) -> (tensor<4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.layout = #tp.layout<#mesh, [replicate]>, tp.name = "f: hoisted 0", tp.updates = "f: hoisted 0"}) attributes {tp.part_of = "f", tp.times = 1 : i64} {
        %0 = tp.redistribute %arg0 : tensor<4xf32, #tp.layout<#mesh, [shard<0>]>> to tensor<4xf32, #tp.layout<#mesh, [replicate]>>
        return %0 : tensor<4xf32, #tp.layout<#mesh, [replicate]>>
      }
      func.func @f.part1(%arg0: tensor<4xf32, #tp.layout<#mesh, [shard<0>]>> {tp.name = "w"}, %arg1: tensor<4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.name = "s"}, %arg2: tensor<4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.layout = #tp.layout<#mesh, [replicate]>, tp.name = "f: hoisted 0"}) -> (tensor<4xf32, #tp.layout<#mesh, [replicate]>> {tp.kind = "carried", tp.name = "s", tp.updates = "s"}) attributes {tp.part_of = "f", tp.times = 9 : i64} {
        %0 = arith.addf %arg1, %arg2 {tp.result_layouts = [#tp.layout<#mesh, [replicate]>], tp.strategy = #tp.strategy<#mesh, [replicate]>} : tensor<4xf32, #tp.layout<#mesh, [replicate]>>
        return %0 : tensor<4xf32, #tp.layout<#mesh, [replicate]>>
      }
    }
    ```
  }];
  let dependentDialects = ["::tp::TPDialect"];
}

def VerifyMaterialized : Pass<"tp-verify-materialized", "::mlir::ModuleOp"> {
  let summary = "Check that all types have layouts and all ops fit theirs";
  let description = [{
    The exit contract of `tp-materialize`: every ranked tensor has a layout;
    every op's strategy is legal for its rule, and its operands and results have
    the layouts that the strategy requires; no `tensor.cast` changes a layout; no
    `tp.constrain` is left.

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    func.func @main(%x: tensor<4x8xf32, #tp.layout<#mesh, [partial<sum>]>>) {
      %y = tensor.cast %x : tensor<4x8xf32, #tp.layout<#mesh, [partial<sum>]>> to tensor<4x8xf32, #tp.layout<#mesh, [replicate]>>
      return
    }
    ```
    is refused:
    ```text
    error: 'tensor.cast' op changes the layout; only tp.redistribute may
    ```
  }];
}

def InsertCollectives : Pass<"tp-insert-collectives", "::mlir::ModuleOp"> {
  let summary = "Turn every redistribution into collectives";
  let description = [{
    Each `tp.redistribute` becomes a path of collectives and local ops from one
    layout to the other. There is a path between any two layouts. The pass takes
    the cheapest: by the bytes that a rank sends, in blocks with their padding,
    and 1 KiB per collective; then by bytes copied locally; then by the number of
    steps. docs/redistribution.md describes the search.

    A path may pass through layouts that neither side has: buffers change places
    by permute, axes are cut into sub-axes, shards move to another dimension and
    back, ranks that all have a value divide the work. A value that is only
    reduced takes one all_reduce. Consecutive steps of one kind are one step over
    the combined group. If axes are partial of different kinds, the later ones in
    mesh order combine first.

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

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    func.func @main(%x: tensor<8xf32, #tp.layout<#mesh, [shard<0>]>>) {
      %y = tp.redistribute %x : tensor<8xf32, #tp.layout<#mesh, [shard<0>]>> to tensor<8xf32, #tp.layout<#mesh, [replicate]>>
      return
    }
    ```
    is refused:
    ```text
    error: 'tp.redistribute' op is left, expected none after tp-insert-collectives
    ```
  }];
}

#endif // TP_TRANSFORMS_REDISTRIBUTE_PASSES_TD
