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
  let summary = "Runs passes on few of many equal layers";
  let description = [{
    tp compiles a model of 126 layers like one of 4. This pass leaves out layers
    that are equal but for their parameters, runs `passes` on the rest, and
    replaces the layers left out by copies of a layer that was kept.

    Arguments define the layers: names that differ in one number
    (`layers.7.wq.weight`) begin a layer each. Ops that use corresponding values
    in the same way correspond: forward ops, backward ops and those of the
    optimizer, in any order of the text. The pass keeps two layers at each end.
    The results of `passes` for the two layers around the gap must be equal in
    ops, types and wiring, because only then a copy is what `passes` would have
    produced. If they are not, the pass keeps three layers at each end.

    The passes run on the whole program if these are not equal either, if layers
    differ in an op, an attribute, a pin or an operand, or if fewer than six
    repeat. Errors are always those of the whole program.

    The passes in `further` then run on the layers kept, before copies of them
    are made. If what they make repeats too, the module gets the attribute
    `tp.on_tensors_done`. If it does not, or if the passes run on the whole
    program, `further` is left to who comes later. Attentions of copies have
    numbers of their own (`tp.attention`).

    Copies have the locations of the layers that they replace. They have no
    numbers in `tp.values`. So without passes only the order of ops changes:

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
           "The passes to run on a module: a,b or builtin.module(a,b)">,
    Option<"further", "further", "std::string", "\"\"",
           "Passes to run after these, if what they make of the layers kept "
           "repeats too">,
    Option<"report", "report", "bool", "false",
           "Emit a remark that says how many layers were left out">
  ];
}

#endif // TP_TRANSFORMS_LAYERS_PASSES_TD
