//===- Passes.td - passes of Transforms/Import ---------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_IMPORT_PASSES_TD
#define TP_TRANSFORMS_IMPORT_PASSES_TD

include "mlir/Pass/PassBase.td"

def ImportShard : Pass<"tp-import-shard", "::mlir::ModuleOp"> {
  let summary = "Turns annotations of the dialect `shard` into a plan";
  let description = [{
    Reads a program that is annotated with MLIR's dialect `shard` and leaves the
    same program with a plan in the module, which tp-apply-plan applies. No op
    of `shard` is left. A module without a `shard.grid` stays as it is.

    - The `shard.grid` becomes the mesh. Its axes get the names that the option
      `mesh` has; without it the name of the grid, and a number after `_` if
      there are several axes.
    - Every axis gets a `tp.plan`. The layout of an annotated argument becomes
      its `tp.argument`, that of a returned value its `tp.result`. The argument
      has the layout that is annotated without `annotate_for_users`; if there is
      none, the one that all its uses have.
    - An annotation of another value becomes one `tp.constrain` per axis: after
      the op that defines the value for all of its uses, or with
      `annotate_for_users` for the uses of the annotation alone. Its location is
      the annotation's.

    An annotation states a placement on every axis: replicate where no dimension
    is split. What tp cannot express is an error: a grid of dynamic sizes, a
    second grid, halos, `sharded_dims_offsets` other than the chunks of tp, the
    axes of a dimension in another order than that of the grid, two layouts of
    one value, an annotation inside another op, and ops of `shard` that are for
    the program of one device.

    ```mlir
    shard.grid @tp(shape = 4)
    func.func @main(%x: tensor<16x8xf32>, %w: tensor<16x8xf32>) -> tensor<16x8xf32> {
      %rows = shard.sharding @tp split_axes = [[0]] : !shard.sharding
      %columns = shard.sharding @tp split_axes = [[], [0]] : !shard.sharding
      %0 = shard.shard %w to %rows : tensor<16x8xf32>
      %1 = arith.addf %x, %0 : tensor<16x8xf32>
      %2 = shard.shard %1 to %rows : tensor<16x8xf32>
      %3 = shard.shard %2 to %columns annotate_for_users : tensor<16x8xf32>
      %4 = math.exp %3 : tensor<16x8xf32>
      %5 = shard.shard %4 to %columns : tensor<16x8xf32>
      return %5 : tensor<16x8xf32>
    }
    ```
    becomes
    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    module {
      tp.plan @tp on #mesh["tp"] {
        tp.argument 1 shard<0>
        tp.result 0 shard<1>
      }
      func.func @main(%arg0: tensor<16x8xf32>, %arg1: tensor<16x8xf32>) -> tensor<16x8xf32> {
        %0 = arith.addf %arg0, %arg1 : tensor<16x8xf32>
        %1 = tp.constrain %0 on "tp" of #mesh to shard<0> view [16, 8] at "main" "annotation" : tensor<16x8xf32>
        %2 = tp.constrain %1 on "tp" of #mesh to shard<1> view [16, 8] at "main" "annotation" : tensor<16x8xf32>
        %3 = math.exp %2 : tensor<16x8xf32>
        %4 = tp.constrain %3 on "tp" of #mesh to shard<1> view [16, 8] at "main" "annotation" : tensor<16x8xf32>
        return %4 : tensor<16x8xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"plan", "plan", "std::string", "",
           "'auto': tp chooses the layouts of parameters that no annotation states">,
    Option<"mesh", "mesh", "std::string", "",
           "Names of the grid's axes, and their sizes: axis=size, separated by commas">,
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

#endif // TP_TRANSFORMS_IMPORT_PASSES_TD
