//===- Passes.td - passes of Transforms/Propagate ----------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_PROPAGATE_PASSES_TD
#define TP_TRANSFORMS_PROPAGATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def Propagate : Pass<"tp-propagate", "::mlir::ModuleOp"> {
  let summary = "Chooses a strategy for every op and a layout for every value";
  let description = [{
    Finds the cheapest assignment that satisfies all pins (`tp.pin` on
    arguments and results, `tp.constrain`), one mesh axis after the other. A
    remark states where tp could not prove that it is the cheapest. The pass
    writes the assignment as `tp.strategy` and `tp.result_layouts` on ops and as
    `tp.layout` on arguments and results. Types stay plain. Arguments without a
    pin are replicated; results without one are never partial.

    Free producers (empties, fills, constants) are copied if their uses need
    different layouts.

    docs/propagate.md explains costs and guarantees.

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%x: tensor<16x32xf32> {tp.pin = {tp = #tp.placement<shard<1>>}}) -> (tensor<16xf32> {tp.pin = {tp = #tp.placement<replicate>}}) {
        %zero = arith.constant 0.0 : f32
        %init = tensor.empty() : tensor<16xf32>
        %fill = linalg.fill ins(%zero : f32) outs(%init : tensor<16xf32>) -> tensor<16xf32>
        %sum = linalg.reduce { arith.addf } ins(%x : tensor<16x32xf32>) outs(%fill : tensor<16xf32>) dimensions = [1]
        return %sum : tensor<16xf32>
      }
    }
    ```
    becomes
    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%arg0: tensor<16x32xf32> {tp.layout = #tp.layout<#mesh, [shard<1>]>, tp.pin = {tp = #tp.placement<shard<1>>}}) -> (tensor<16xf32> {tp.layout = #tp.layout<#mesh, [replicate]>, tp.pin = {tp = #tp.placement<replicate>}}) {
        %cst = arith.constant 0.000000e+00 : f32
        %0 = tensor.empty() {tp.result_layouts = [#tp.layout<#mesh, [partial<sum>]>], tp.strategy = #tp.strategy<#mesh, [passthrough<sum, []>]>} : tensor<16xf32>
        %1 = linalg.fill {tp.result_layouts = [#tp.layout<#mesh, [partial<sum>]>], tp.strategy = #tp.strategy<#mesh, [passthrough<sum, []>]>} ins(%cst : f32) outs(%0 : tensor<16xf32>) -> tensor<16xf32>
        %reduced = linalg.reduce { arith.addf } ins(%arg0 : tensor<16x32xf32>) outs(%1 : tensor<16xf32>) dimensions = [1]  {tp.result_layouts = [#tp.layout<#mesh, [partial<sum>]>], tp.strategy = #tp.strategy<#mesh, [split<1>]>}
        return %reduced : tensor<16xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"replicateUnknown", "replicate-unknown", "bool", "false",
           "Replicate ops that have no sharding rule, with a remark, instead of failing">,
    Option<"remarks", "remarks", "bool", "false",
           "Emit a remark for every redistribution: why it exists, its collective and its bytes">,
    Option<"explain", "explain", "bool", "false",
           "Find out for every collective which pins cause it and what the next-best choice would cost, and write that as `tp.causes` (tp-materialize passes it on)">,
    Option<"explainLimit", "explain-limit", "int64_t", "256",
           "The number of next-best choices to look for; each solves the assignment again">,
    Option<"allowSplitAllReduce", "allow-split-all-reduce", "bool", "false",
           "A reduce_scatter and an all_gather may replace the all_reduce of a lazy output">,
    Option<"noImplicitCollectives", "no-implicit-collectives", "bool", "false",
           "A collective that no plan entry asks for is an error (docs/plans.md)">,
    Option<"bytePrice", "byte-price", "double", "0",
           "The cost of a byte that a rank holds for the whole step, in bytes of communication (in ps with 'objective=time')">,
    Option<"objective", "objective", "std::string", "\"communication\"",
           "What is minimized: 'communication' (bytes of collectives, then time of computing) or 'time' (of both)">,
    Option<"hardware", "hardware", "std::string", "\"default\"",
           "The machine that costs are computed for: a .json file or the name of a description that comes with tp (docs/hardware.md)">,
    Option<"tableBytes", "table-bytes", "int64_t", "1073741824",
           "The most memory that the solver's tables may take">,
    Option<"easyTableBytes", "easy-table-bytes", "int64_t", "67108864",
           "The memory of tables above which the solver computes bounds first, to make the tables smaller">,
    Option<"report", "report-solver", "bool", "false",
           "Emit a remark at the function with the sizes of the problem and the cost of the assignment: primary + secondary, as `objective` orders them">,
  ];
  let dependentDialects = ["::tp::TPDialect"];
}

def VerifyAssignment : Pass<"tp-verify-assignment", "::mlir::ModuleOp"> {
  let summary = "Checks what tp-propagate promises";
  let description = [{
    Every op with tensors has a legal strategy. Every value has the layout that
    the strategy produces. Every argument and result has a layout. All pins hold.

    ```mlir
    #mesh = #tp.mesh<"tp" = 2>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%x: tensor<4xf32> {tp.layout = #tp.layout<#mesh, [replicate]>, tp.pin = {tp = #tp.placement<shard<0>>}}) {
        return
      }
    }
    ```
    is refused:
    ```text
    error: argument #0 of 'main' is pinned to shard<0> on axis "tp", got replicate
    ```
  }];
}

#endif // TP_TRANSFORMS_PROPAGATE_PASSES_TD
