//===- Passes.td - passes of Transforms/Plan -----------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_PLAN_PASSES_TD
#define TP_TRANSFORMS_PLAN_PASSES_TD

include "mlir/Pass/PassBase.td"

def ApplyPlan : Pass<"tp-apply-plan", "::mlir::ModuleOp"> {
  let summary = "Turns a parallelize plan into pins";
  let description = [{
    Reads the plan, finds the values that every entry names and pins them:

    - the module gets `tp.mesh`, `tp.bindings` (what every entry bound) and, if
      plans are marked `auto`, `tp.auto` (the names of their axes);
    - every function argument gets `tp.pin`, a dictionary from axis name to
      `#tp.placement`; a result gets one if a `tp.result` names it. If a plan is
      marked `auto`, a weight that it does not name gets `"sharded"`, another
      parameter `"any"`, and the states and results of both `"as_parameter"`;
    - the boundaries of modules get `tp.constrain` ops, the outer pin before the
      inner pin on inputs and after it on outputs. Their location is the plan
      entry's. A `tp.expected` on one states that the style expects the value in
      this layout and asks for no collective to it (docs/plans.md).

    Without the option `plan` the `tp.plan` ops in the module are the plan.

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    tp.plan @mlp on #mesh["tp"] {
      tp.parallelize "w1" with colwise
    }
    func.func @main(%x: tensor<16x8xf32> {tp.kind = "user_input", tp.name = "x"}, %w: tensor<32x8xf32> {tp.kind = "parameter", tp.name = "w1.weight"}) -> tensor<16x32xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<8x32xf32>
      %t = linalg.transpose ins(%w : tensor<32x8xf32>) outs(%e : tensor<8x32xf32>) permutation = [1, 0]
      %init = tensor.empty() : tensor<16x32xf32>
      %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<16x32xf32>) -> tensor<16x32xf32>
      %y = linalg.matmul ins(%x, %t : tensor<16x8xf32>, tensor<8x32xf32>) outs(%fill : tensor<16x32xf32>) -> tensor<16x32xf32>
      return %y : tensor<16x32xf32>
    }
    ```
    becomes
    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    module attributes {tp.bindings = [{axis = "tp", entry = "w1", module = "w1", status = "bound", style = "colwise", values = [{dims = array<i64: 32, 8>, layout = "shard<0>", loc = "w1.weight", port = "weight"}, {dims = array<i64: 16, 8>, layout = "replicate", loc = "x", port = "input"}, {dims = array<i64: 16, 32>, layout = "shard<1>", loc = "", port = "output"} ]} ], tp.mesh = #mesh} {
      func.func @main(%arg0: tensor<16x8xf32> {tp.kind = "user_input", tp.name = "x", tp.pin = {tp = #tp.placement<replicate>}}, %arg1: tensor<32x8xf32> {tp.kind = "parameter", tp.name = "w1.weight", tp.pin = {tp = #tp.placement<shard<0>>}}) -> tensor<16x32xf32> {
        %0 = tp.constrain %arg0 on "tp" of #mesh to replicate view [16, 8] at "w1" "input" {tp.expected} : tensor<16x8xf32>
        %cst = arith.constant 0.000000e+00 : f32
        %1 = tensor.empty() : tensor<8x32xf32>
        %transposed = linalg.transpose ins(%arg1 : tensor<32x8xf32>) outs(%1 : tensor<8x32xf32>) permutation = [1, 0] 
        %2 = tensor.empty() : tensor<16x32xf32>
        %3 = linalg.fill ins(%cst : f32) outs(%2 : tensor<16x32xf32>) -> tensor<16x32xf32>
        %4 = linalg.matmul ins(%0, %transposed : tensor<16x8xf32>, tensor<8x32xf32>) outs(%3 : tensor<16x32xf32>) -> tensor<16x32xf32>
        %5 = tp.constrain %4 on "tp" of #mesh to shard<1> view [16, 32] at "w1" "output" : tensor<16x32xf32>
        return %5 : tensor<16x32xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"plan", "plan", "std::string", "",
           "The plan file, or a word (docs/plans.md) on the axes of 'mesh': 'auto' or 'transformer'">,
    Option<"mesh", "mesh", "std::string", "",
           "Sizes that override the plan's: axis=size, separated by commas">,
    Option<"report", "report", "std::string", "",
           "Write what every entry bound to this file ('-': standard output)">,
    Option<"strict", "strict", "bool", "false",
           "An entry without effect is an error">,
    Option<"whatIf", "what-if", "std::string", "",
           "VALUE=LAYOUT: pins one value in another way than the plan (docs/explain.md)">,
    Option<"entryLocations", "entry-locations", "bool", "false",
           "Every row of `tp.bindings` gets the location of its plan entry as `at`">,
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

def Recompute : Pass<"tp-recompute", "::mlir::ModuleOp"> {
  let summary = "Computes values of modules again in the backward pass";
  let description = [{
    `tp.recompute` of a function has the names of modules. A model has it where its
    code computes them again; tp-apply-plan adds those of the plan's entries of that
    name, which replace the model's modules that lie in them or around them. The
    pass removes it.

    What the backward pass of such a module (ops located in `bwd:MODULE`) reads of
    its forward pass is computed again, by copies of the forward ops, as few as
    necessary. They stand before the first op that reads them, in the backward
    pass, and are located there. They read what enters the module through
    `tp.kept`, which no later stage sees through, so they are merged with the
    originals nowhere. So does the backward pass of the module: what is brought
    together for the forward pass is brought together again.

    Pins inside of the module are copied, so collectives run again where copies
    need them. So is a gather that the plan asks for in front of the module or of
    one around it: the backward pass keeps the shards. One copy serves all modules
    that read the gather. A parameter that the backward pass gathers (`tp.fully_shard`) is
    gathered once for both. Values that parameters and constants alone determine
    are not copied, nor is what computes results of the function, such as new
    statistics: these are computed once.

    `modules` adds patterns to those that the function has; a module that lies in
    one of these, or around one, is left as it is. tp-compile gives them where a
    rank may hold fewer bytes.

    ```mlir
    func.func @step(%x: tensor<4xf32> {tp.kind = "user_input", tp.name = "x"}, %g: tensor<4xf32> {tp.kind = "user_input", tp.name = "g"})
        -> (tensor<4xf32>, tensor<4xf32>) attributes {tp.recompute = ["act"]} {
      %e = tensor.empty() : tensor<4xf32>
      %a = linalg.exp ins(%x : tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("act"("exp"))
      %d = linalg.mul ins(%g, %a : tensor<4xf32>, tensor<4xf32>) outs(%e : tensor<4xf32>) -> tensor<4xf32> loc("bwd:act"("mul"))
      return %a, %d : tensor<4xf32>, tensor<4xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @step(%arg0: tensor<4xf32> {tp.kind = "user_input", tp.name = "x"}, %arg1: tensor<4xf32> {tp.kind = "user_input", tp.name = "g"}) -> (tensor<4xf32>, tensor<4xf32>) {
        %0 = tensor.empty() : tensor<4xf32>
        %1 = linalg.exp ins(%arg0 : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
        %2 = tp.kept %arg0 : tensor<4xf32>
        %3 = linalg.exp ins(%2 : tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
        %4 = linalg.mul ins(%arg1, %3 : tensor<4xf32>, tensor<4xf32>) outs(%0 : tensor<4xf32>) -> tensor<4xf32>
        return %1, %4 : tensor<4xf32>, tensor<4xf32>
      }
    }
    ```
  }];
  let options = [
    ListOption<"modules", "modules", "std::string",
               "Patterns of modules that are computed again, too">,
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

def VerifyBound : Pass<"tp-verify-bound", "::mlir::ModuleOp"> {
  let summary = "Checks the result of tp-apply-plan";
  let description = [{
    Fails unless the module has a mesh, every entry of the plan is bound,
    overridden or without effect, every tensor argument is pinned on every
    axis, every `tp.constrain` has the module's mesh, and tp-recompute has run
    where the plan computes modules again.

    ```mlir
    module attributes {tp.mesh = #tp.mesh<"tp" = 2>, tp.bindings = []} {
      func.func @main(%x: tensor<4xf32>) {
        return
      }
    }
    ```
    is refused:
    ```text
    error: argument 0 has no 'tp.pin'
    ```
  }];
  let dependentDialects = ["::tp::TPDialect"];
}

def WritePlan : Pass<"tp-write-plan", "::mlir::ModuleOp"> {
  let summary = "Writes the plan that tp-propagate completed";
  let description = [{
    Runs after tp-propagate. Writes the entries of `plan`, and entries for what
    the plan left to tp: layouts of parameters (a plan with `auto`) and of
    results. With `entries=modules` these are styles where a style can express
    the layouts, with `*` for the layers that agree, and otherwise port by port.
    With `entries=ports` all are port by port. A layout that no entry can express
    gets a warning, and a comment in the file.

    The pass does not change the program.

    ```mlir
    // tp-opt --tp-apply-plan='plan=auto mesh=tp=2' --tp-normalize --tp-propagate --tp-write-plan='plan=auto mesh=tp=2'
    func.func @main(%x: tensor<16x8xf32> {tp.kind = "user_input", tp.name = "x"}, %w: tensor<32x8xf32> {tp.kind = "parameter", tp.name = "w1.weight"}) -> tensor<16x32xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<8x32xf32>
      %t = linalg.transpose ins(%w : tensor<32x8xf32>) outs(%e : tensor<8x32xf32>) permutation = [1, 0]
      %init = tensor.empty() : tensor<16x32xf32>
      %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<16x32xf32>) -> tensor<16x32xf32>
      %y = linalg.matmul ins(%x, %t : tensor<16x8xf32>, tensor<8x32xf32>) outs(%fill : tensor<16x32xf32>) -> tensor<16x32xf32>
      return %y : tensor<16x32xf32>
    }
    ```
    prints
    ```text
    #mesh = #tp.mesh<"tp" = 2>
    tp.plan @auto on #mesh["tp"] auto {
      tp.argument "w1.weight" shard<0>
      tp.result 0 shard<1>
    }
    ```
  }];
  let options = [
    Option<"file", "file", "std::string", "\"-\"",
           "The file to write ('-': standard output)">,
    Option<"plan", "plan", "std::string", "", "The plan that was applied">,
    Option<"mesh", "mesh", "std::string", "",
           "Sizes that override the plan's: axis=size, separated by commas">,
    Option<"entries", "entries", "std::string", "\"modules\"",
           "What entries name: 'modules' or 'ports'">,
    ListOption<"recompute", "recompute", "std::string",
               "Patterns of modules that tp chose to compute again">,
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

#endif // TP_TRANSFORMS_PLAN_PASSES_TD
