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
    Reads the plan, finds what every entry names and pins it:

    - the module gets `tp.mesh` and `tp.bindings` (what every entry bound);
    - every function argument gets `tp.pin`, a dictionary from axis name to
      `#tp.placement`; results get one where a `tp.result` names them;
    - `tp.constrain` stands at the boundaries of modules, outer pin before
      inner pin on inputs and after it on outputs. Its location is the plan
      entry's.

    Without `plan` the `tp.plan` ops inside the module are the plan.
  }];
  let options = [
    Option<"plan", "plan", "std::string", "", "The plan file">,
    Option<"mesh", "mesh", "std::string", "",
           "Sizes that override the plan's: axis=size, separated by commas">,
    Option<"report", "report", "std::string", "",
           "Write what every entry bound to this file ('-': standard output)">,
    Option<"strict", "strict", "bool", "false",
           "An entry without effect is an error">,
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

def VerifyBound : Pass<"tp-verify-bound", "::mlir::ModuleOp"> {
  let summary = "Checks what tp-apply-plan leaves behind";
  let description = [{
    Fails unless the module has a mesh, every entry of the plan ended as bound,
    overridden or without effect, every tensor argument is pinned on every
    axis, and every `tp.constrain` is of the module's mesh.
  }];
  let dependentDialects = ["::tp::TPDialect"];
}

#endif // TP_TRANSFORMS_PLAN_PASSES_TD
