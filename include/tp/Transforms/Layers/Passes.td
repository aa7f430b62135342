//===- Passes.td - passes of Transforms/Layers --------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_LAYERS_PASSES_TD
#define TP_TRANSFORMS_LAYERS_PASSES_TD

include "mlir/Pass/PassBase.td"

def RepeatLayers : Pass<"tp-repeat-layers", "::mlir::ModuleOp"> {
  let summary = "Runs passes on few of many layers that do the same";
  let description = [{
    A model of 126 layers is compiled like one of 4: layers that do the same with
    other parameters are left out, `passes` run on what is left, and the layers
    left out become copies of a layer that was kept.

    Layers are found by the arguments: names that differ in one number
    (`layers.7.wq.weight`) begin a layer each, and whatever ops take
    corresponding values alike correspond too, whatever they are: forward,
    backward and the optimizer's, in any order of the text. Two layers are kept
    at each end. What the passes make of the two beside the place must be alike,
    operations, types and wiring: else a copy is not what the passes would have
    made, and three are kept at each end.

    Where these are not alike either, where layers differ in an op, an attribute,
    a pin or in what they take, or where fewer than six repeat, the passes run on
    the whole program. Errors are always those of the whole program.

    Copies have the locations of the layers they stand for. `tp.values` numbers
    are left out of them. So without passes nothing changes but the order of ops:

    ```mlir
    func.func @main(%x: tensor<4xf32>, %w0: tensor<4xf32> {tp.name = "h.0.w"}, %w1: tensor<4xf32> {tp.name = "h.1.w"}, %w2: tensor<4xf32> {tp.name = "h.2.w"}, %w3: tensor<4xf32> {tp.name = "h.3.w"}, %w4: tensor<4xf32> {tp.name = "h.4.w"}, %w5: tensor<4xf32> {tp.name = "h.5.w"}, %w6: tensor<4xf32> {tp.name = "h.6.w"}, %w7: tensor<4xf32> {tp.name = "h.7.w"}) -> tensor<4xf32> {
      %0 = arith.mulf %x, %w0 : tensor<4xf32>
      %1 = arith.mulf %0, %w1 : tensor<4xf32>
      %2 = arith.mulf %1, %w2 : tensor<4xf32>
      %3 = arith.mulf %2, %w3 : tensor<4xf32>
      %4 = arith.mulf %3, %w4 : tensor<4xf32>
      %5 = arith.mulf %4, %w5 : tensor<4xf32>
      %6 = arith.mulf %5, %w6 : tensor<4xf32>
      %7 = arith.mulf %6, %w7 : tensor<4xf32>
      return %7 : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<4xf32> {tp.name = "h.0.w"}, %arg2: tensor<4xf32> {tp.name = "h.1.w"}, %arg3: tensor<4xf32> {tp.name = "h.2.w"}, %arg4: tensor<4xf32> {tp.name = "h.3.w"}, %arg5: tensor<4xf32> {tp.name = "h.4.w"}, %arg6: tensor<4xf32> {tp.name = "h.5.w"}, %arg7: tensor<4xf32> {tp.name = "h.6.w"}, %arg8: tensor<4xf32> {tp.name = "h.7.w"}) -> tensor<4xf32> {
        %0 = arith.mulf %arg0, %arg1 : tensor<4xf32>
        %1 = arith.mulf %0, %arg2 : tensor<4xf32>
        %2 = arith.mulf %1, %arg3 : tensor<4xf32>
        %3 = arith.mulf %2, %arg4 : tensor<4xf32>
        %4 = arith.mulf %3, %arg5 : tensor<4xf32>
        %5 = arith.mulf %4, %arg6 : tensor<4xf32>
        %6 = arith.mulf %5, %arg7 : tensor<4xf32>
        %7 = arith.mulf %6, %arg8 : tensor<4xf32>
        return %7 : tensor<4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"passes", "passes", "std::string", "\"\"",
           "The passes to run, as a pipeline on builtin.module">,
    Option<"report", "report", "bool", "false",
           "Emit a remark that says how many layers were left out">
  ];
}

#endif // TP_TRANSFORMS_LAYERS_PASSES_TD
