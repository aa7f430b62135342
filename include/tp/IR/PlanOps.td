//===- PlanOps.td - the parallelize plan ------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_PLANOPS_TD
#define TP_IR_PLANOPS_TD

include "tp/IR/TPAxes.td"

class TP_PlanEntryOp<string mnemonic>
    : Op<TP_Dialect, mnemonic, [HasParent<"::tp::PlanOp">]>;

def TP_PlanOp : Op<TP_Dialect, "plan", [IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "The parallelize plan of one mesh axis, or of several";
  let description = [{
    Entries are read in order. With `auto` after the axis tp chooses the layouts
    of parameters that no entry names; otherwise they are replicated.

    A plan of several axes, major first, is one plan for each of them: what its
    entries shard is sharded over all of these axes. A file has at most one plan
    for the same axes of one mesh.

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    tp.plan @model on #mesh["tp"] {
      tp.parallelize "layers.*.attention.wq" with colwise
      tp.parallelize "layers.*.attention.wo" with rowwise {output_layouts = [shard<1>]}
      tp.argument "tokens" replicate
      tp.result 0 shard<2>
    }
    #pair = #tp.mesh<"dp" = 2, "cp" = 2>
    tp.plan @fsdp on #pair["dp", "cp"] {
      tp.fully_shard "layers.*"
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$plan_name, TP_MeshAttr:$mesh, StrArrayAttr:$axes, UnitAttr:$is_auto);
  let regions = (region SizedRegion<1>:$body);
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "::tp::MeshAttr":$mesh, "::llvm::StringRef":$axis, "bool":$is_auto)>];
  let assemblyFormat = "$plan_name `on` $mesh `[` custom<PlanAxes>($axes, ref($mesh)) `]` (`auto` $is_auto^)? `` custom<PlanMarks>(attr-dict) $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    bool hasAxis(::llvm::StringRef axis);
    /// The axis of a plan of one axis, as all plans are that readPlan gives.
    ::mlir::StringAttr getAxisAttr();
    ::llvm::StringRef getAxis() { return getAxisAttr().getValue(); }
  }];
}

def TP_ParallelizeOp : TP_PlanEntryOp<"parallelize"> {
  let summary = "Gives the modules of a name a parallel style";
  let description = [{
    `*` in the name matches within one segment; `""` is the root module.
    Options are named as in `torch.distributed.tensor.parallel`. A layout is
    `replicate`, `shard<d>` (negative dimensions count from the back),
    `partial<kind>` or `none`; several ports take a list, keyword arguments a
    dictionary; an option without a value is true. `override = true` lets an entry replace earlier ones on the
    modules that both match. Styles and their options: docs/plans.md.
  }];
  let arguments = (ins StrAttr:$pattern, StrAttr:$style, DictionaryAttr:$options);
  let assemblyFormat = "$pattern `with` custom<Style>($style) custom<PlanOptions>($options, ref($style)) attr-dict-with-keyword";
  let hasVerifier = 1;
}

def TP_FullyShardOp : TP_PlanEntryOp<"fully_shard"> {
  let summary = "Stores the parameters of modules as shards on the axis";
  let description = [{
    The name is as in `tp.parallelize`. Every parameter below the modules, and
    what the optimizer keeps for it, is stored as a shard. The batch is sharded,
    unless the plan names an input of the model. A parameter is gathered before
    the forward pass uses it, and again in the backward pass; its gradient is
    reduced onto the shards.

    With `keep` the backward pass uses what the forward pass has gathered. At
    `stage` 1 and 2 parameters are whole on every rank, and only what the
    optimizer keeps is sharded; 3 is the default. docs/plans.md has more.

    ```mlir
    tp.fully_shard "layers.*" {keep = true}
    ```
  }];
  let arguments = (ins StrAttr:$pattern, DictionaryAttr:$options);
  let assemblyFormat = "$pattern custom<EntryOptions>($options) attr-dict-with-keyword";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Whether the backward pass uses what the forward pass has gathered.
    bool keepsGathered();
    /// Whether parameters are sharded, not only optimizer states.
    bool shardsParameters();
  }];
}

def TP_RecomputeOp : TP_PlanEntryOp<"recompute"> {
  let summary = "Computes the values of modules again in the backward pass";
  let description = [{
    The name is as in `tp.parallelize`. What the backward pass of such a module
    reads of its forward pass is not kept: it is computed again, from the values
    that enter the module, right before the backward pass of the module. Modules
    of one entry or of several must not lie in each other. A module without
    backward pass is left as it is. docs/training.md has more.

    The axis of the plan does not matter. Collectives inside of the module run
    again.

    ```mlir
    tp.recompute "layers.*"
    ```
  }];
  let arguments = (ins StrAttr:$pattern, DictionaryAttr:$options);
  let assemblyFormat = "$pattern custom<EntryOptions>($options) attr-dict-with-keyword";
  let hasVerifier = 1;
}

class TP_PortEntryOp<string mnemonic> : TP_PlanEntryOp<mnemonic> {
  let arguments = (ins AnyAttrOf<[StrAttr, I64Attr]>:$port, TP_PlacementAttr:$placement);
  let assemblyFormat = "custom<PortName>($port) custom<PlanPlacement>($placement) attr-dict-with-keyword";
  let hasVerifier = 1;
}

def TP_ArgumentOp : TP_PortEntryOp<"argument"> {
  let summary = "The layout of a function argument";
  let description = [{
    The argument is named by its `tp.name`, `kind:name` or its position.

    ```mlir
    tp.argument "tokens" shard<0>
    ```
  }];
}

def TP_ResultOp : TP_PortEntryOp<"result"> {
  let summary = "The layout of a function result";
  let description = [{
    The result is named by its `tp.name`, `kind:name` or its position.

    ```mlir
    tp.result 0 replicate
    ```
  }];
}

#endif // TP_IR_PLANOPS_TD
