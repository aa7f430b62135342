//===- Passes.td - passes of Transforms/Legalize ------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_LEGALIZE_PASSES_TD
#define TP_TRANSFORMS_LEGALIZE_PASSES_TD

include "mlir/Pass/PassBase.td"

def OutlineLoops : Pass<"tp-outline-loops", "::mlir::ModuleOp"> {
  let summary =
      "Keeps loops: their bodies become functions that run many times";
  let description = [{
    Cuts an entry at its `scf.for` of constant bounds, where unrolling would make
    more than `limit` ops. What comes before a loop and the loop's body become
    functions of their own, *parts* of the entry: `tp.part_of` names the entry and
    `tp.times` says how often the part runs. A host that runs the entry runs its
    parts before it, in the order of the module, each as often as it says.

    Parts have the entry's arguments, and behind them arguments of kind `carried`,
    which results update (`tp.updates`): the number of the iteration, what the loop
    carries, and every value that a later part uses. Entry and parts share all of
    them, so that what one part leaves, the next one finds. Constants are computed
    where they are needed, and so are fixed parts of arguments and arguments in
    another shape: an iteration that reads a layer's weight reads the parameter.

    Calls are inlined first. A loop inside of another op, of other bounds, or whose
    values have types that no argument has, stays; `tp-legalize` unrolls it.

    ```mlir
    func.func @f(%w: tensor<100x4xf32> {tp.name = "w"},
                 %x: tensor<4xf32> {tp.name = "x"}) -> tensor<4xf32> {
      %from = arith.constant 0 : index
      %to = arith.constant 100 : index
      %step = arith.constant 1 : index
      %y = scf.for %i = %from to %to step %step iter_args(%acc = %x) -> (tensor<4xf32>) {
        %row = tensor.extract_slice %w[%i, 0] [1, 4] [1, 1] : tensor<100x4xf32> to tensor<4xf32>
        %sum = arith.addf %acc, %row : tensor<4xf32>
        scf.yield %sum : tensor<4xf32>
      }
      return %y : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @f(%arg0: tensor<100x4xf32> {tp.name = "w"}, %arg1: tensor<4xf32> {tp.name = "x"}, %arg2: index {tp.kind = "carried", tp.name = "f: loop 0, iteration"}, %arg3: tensor<4xf32> {tp.kind = "carried", tp.name = "f: loop 0, value 0"}) -> tensor<4xf32> {
        return %arg3 : tensor<4xf32>
      }
      func.func @f.part0(%arg0: tensor<100x4xf32> {tp.name = "w"}, %arg1: tensor<4xf32> {tp.name = "x"}, %arg2: index {tp.kind = "carried", tp.name = "f: loop 0, iteration"}, %arg3: tensor<4xf32> {tp.kind = "carried", tp.name = "f: loop 0, value 0"}) -> (index {tp.kind = "carried", tp.name = "f: loop 0, iteration", tp.updates = "f: loop 0, iteration"}, tensor<4xf32> {tp.kind = "carried", tp.name = "f: loop 0, value 0", tp.updates = "f: loop 0, value 0"}) attributes {tp.part_of = "f", tp.times = 1 : i64} {
        %c0 = arith.constant 0 : index
        %c100 = arith.constant 100 : index
        %c1 = arith.constant 1 : index
        %c0_0 = arith.constant 0 : index
        return %c0_0, %arg1 : index, tensor<4xf32>
      }
      func.func @f.part1(%arg0: tensor<100x4xf32> {tp.name = "w"}, %arg1: tensor<4xf32> {tp.name = "x"}, %arg2: index {tp.kind = "carried", tp.name = "f: loop 0, iteration"}, %arg3: tensor<4xf32> {tp.kind = "carried", tp.name = "f: loop 0, value 0"}) -> (index {tp.kind = "carried", tp.name = "f: loop 0, iteration", tp.updates = "f: loop 0, iteration"}, tensor<4xf32> {tp.kind = "carried", tp.name = "f: loop 0, value 0", tp.updates = "f: loop 0, value 0"}) attributes {tp.calls = 100 : i64, tp.part_of = "f", tp.times = 100 : i64} {
        %extracted_slice = tensor.extract_slice %arg0[%arg2, 0] [1, 4] [1, 1] : tensor<100x4xf32> to tensor<4xf32>
        %0 = arith.addf %arg3, %extracted_slice : tensor<4xf32>
        %c1 = arith.constant 1 : index
        %1 = arith.addi %arg2, %c1 : index
        return %1, %0 : index, tensor<4xf32>
      }
    }
    ```
  }];
  let options = [Option<
      "limit", "limit", "int64_t", "0",
      "A loop of which unrolling would make more ops is kept">];
  let dependentDialects = ["::mlir::arith::ArithDialect"];
}

def Legalize : Pass<"tp-legalize", "::mlir::ModuleOp"> {
  let summary = "Rewrites unusual forms to linalg on tensors in one block";
  let description = [{
    Leaves functions of one block each, whose ops have sharding rules:

    - tp compiles the public functions that no other one calls. Their calls are
      inlined. Ops keep their locations; an op whose location names no module
      gets the location of the call.
    - Loads of constant globals become their numbers.
    - `affine.apply`, `affine.min`, `affine.max`, `affine.linearize_index` and
      `affine.delinearize_index` become ops of `arith`.
    - An op, an attribute or a value of an enum that the table of ops
      (OpTable.cpp) does not have is an error at the op.
    - Unsigned and signed integers become signless ones; the ops state which order
      they mean. An unsigned argument or result gets `tp.unsigned`.
    - Types with `?` become static if casts, constants and shape inference
      determine the sizes.
    - Integers computed from constants are folded. `scf.for` and `scf.forall` with
      constant bounds are unrolled. `scf.if` and `scf.index_switch` compute all
      sides, in which nothing can fail, and select one.
    - Scalar arguments and results become tensors of rank 0.
    - Ops on tensors without elements are removed.
    - Elementwise ops on tensors, `tensor.generate`, `tensor.insert`,
      `tensor.gather`, `tensor.scatter`, `tm_tensor.scatter`, `tensor.bitcast`,
      computed paddings and slices written with strides become `linalg.generic`.
      `tensor.reshape` becomes a collapse and an expansion.
    - Complex values become their real and imaginary parts. At the ports of the
      function one tensor with a last dimension of 2 has both.
    - Scalar ops of two results become ops of one.
    - `arith.truncf` with a rounding mode becomes rounding to nearest and a step
      to the neighbour.
    - Flags that only permit other results (`fastmath`, `overflow`, `exact`) are
      removed.
    - A product of two operands that are widened from f16, or from bf16, to f32
      reads the narrow ones; it widens each element, and its sums stay f32.
    - Slices at positions known only at run time get an assertion that they are
      inside, unless the position is clamped to that. A slice that has all of a
      dimension begins at 0 there.

    Unknown ops stay; `tp-verify-legal` names them.

    ```mlir
    func.func private @scale(%x: tensor<4xf32>, %by: f32) -> tensor<4xf32> {
      %factor = tensor.splat %by : tensor<4xf32>
      %y = arith.mulf %x, %factor : tensor<4xf32>
      return %y : tensor<4xf32>
    }
    func.func @main(%x: tensor<4xf32>, %by: f32) -> tensor<4xf32> {
      %y = call @scale(%x, %by) : (tensor<4xf32>, f32) -> tensor<4xf32>
      return %y : tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0) -> (d0)>
    module {
      func.func @main(%arg0: tensor<4xf32>, %arg1: tensor<f32>) -> tensor<4xf32> {
        %extracted = tensor.extract %arg1[] : tensor<f32>
        %splat = tensor.splat %extracted : tensor<4xf32>
        %0 = tensor.empty() : tensor<4xf32>
        %1 = linalg.generic {indexing_maps = [#map, #map, #map], iterator_types = ["parallel"]} ins(%arg0, %splat : tensor<4xf32>, tensor<4xf32>) outs(%0 : tensor<4xf32>) {
        ^bb0(%in: f32, %in_0: f32, %out: f32):
          %2 = arith.mulf %in, %in_0 : f32
          linalg.yield %2 : f32
        } -> tensor<4xf32>
        return %1 : tensor<4xf32>
      }
    }
    ```
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::cf::ControlFlowDialect",
                           "::mlir::linalg::LinalgDialect", "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect", "::tp::TPDialect"];
}

def VerifyLegal : Pass<"tp-verify-legal", "::mlir::ModuleOp"> {
  let summary = "Reports what no later stage handles";
  let description = [{
    Fails at control flow, calls, globals, types and ops that have no sharding
    rule and that later stages do not handle; the error names what to write
    instead. Ops on tensors without a rule pass: `tp-propagate` can replicate
    them.

    ```mlir
    func.func @main(%x: tensor<?x4xf32>) -> tensor<?x4xf32> {
      return %x : tensor<?x4xf32>
    }
    ```
    is refused:
    ```text
    error: expected tensors of static shape, got 'tensor<?x4xf32>'; export the model with fixed sizes
    ```
  }];
}

#endif // TP_TRANSFORMS_LEGALIZE_PASSES_TD
