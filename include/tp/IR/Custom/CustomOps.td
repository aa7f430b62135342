//===- CustomOps.td - ops of dialects that tp does not know -*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An op that tp does not know goes through all stages: the plan has its rule, the
// program has it as a tp.custom, a rank's program as a tp.call.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_CUSTOMOPS_TD
#define TP_IR_CUSTOMOPS_TD

include "mlir/Interfaces/SideEffectInterfaces.td"
include "tp/IR/TPAxes.td"

class TP_OtherOp<string mnemonic, list<Trait> traits = []>
    : Op<TP_Dialect, mnemonic, traits>;

def TP_RuleOp : TP_OtherOp<"rule"> {
  let summary = "How an op is split that has no sharding rule";
  let description = [{
    Stands beside the plans of a file and holds on every axis. The rule names the
    dimensions of each operand, then those of each result. A rank may have a part
    of what a name stands for, in all tensors that have it, and computes its part
    of the results from that alone. `_` is a dimension that is never split.

    A name that no result has is split only if `reduction` lists it: then a rank
    has a part of the results' sum. `combine` is another reduction kind
    (`"product"`, `"max"`, `"min"`). A name that not all results have, and one
    that no operand has, is never split.

    ```mlir
    tp.rule "my.matmul" "b i k, k j -> b i j" {reduction = ["k"]}
    ```
  }];
  let arguments = (ins StrAttr:$op_name, StrAttr:$rule, DictionaryAttr:$options);
  let assemblyFormat = "$op_name $rule custom<EntryOptions>($options) attr-dict-with-keyword";
  let hasVerifier = 1;
}

def TP_CustomOp : TP_OtherOp<"custom", [Pure]> {
  let summary = "An op of a dialect that tp does not know";
  let description = [{
    `tp-legalize` leaves it in place of an op of an unregistered dialect, with the
    op's attributes in `op_attributes`: numbers, texts and lists of numbers. The op
    computes its results from its operands and does nothing else. A function of
    its name that the user links computes it (docs/custom-ops.md).

    `tp-apply-plan` adds `rule`, `reduction` and `combine` of the plan's
    `tp.rule`. In a rank's program an op on uneven shards has `valid`: for each
    uneven dimension, how many of its indices every rank has. `valid_dims` has, for
    every dimension of the operands and then of the results, which of these counts
    it has, or -1. Indices behind them are padding.

    ```mlir
    %y = tp.custom "my.matmul"(%a, %b) {op_attributes = {scale = 2.0 : f64}, reduction = ["k"], rule = "i k, k j -> i j"} : (tensor<4x8xf32>, tensor<8x6xf32>) -> tensor<4x6xf32>
    ```
  }];
  let arguments = (ins StrAttr:$op_name, Variadic<AnyRankedTensor>:$inputs,
                       DefaultValuedAttr<DictionaryAttr, "{}">:$op_attributes,
                       OptionalAttr<StrAttr>:$rule,
                       OptionalAttr<StrArrayAttr>:$reduction,
                       OptionalAttr<StrAttr>:$combine,
                       OptionalAttr<ArrayAttr>:$valid,
                       OptionalAttr<ArrayAttr>:$valid_dims);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let assemblyFormat = "$op_name `(` $inputs `)` attr-dict `:` functional-type($inputs, $results)";
  let hasVerifier = 1;
}

def TP_CallOp : TP_OtherOp<"call", [
    AttrSizedOperandSegments, DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "An op that a function of the user computes";
  let description = [{
    What a `tp.custom` becomes: the function that the user links for `op_name`
    reads `inputs` and writes all of `outputs`, which overlap no other buffer of
    the call. `op_attributes`, `valid` and `valid_dims` are those of the op. Layouts
    are strided. On processors a kernel of the artifact calls the function, on
    devices the runtime.

    ```mlir
    tp.call "my.matmul"(%a, %b) into (%y) {op_attributes = {scale = 2.0 : f64}} : (memref<4x8xf32>, memref<8x6xf32>) into (memref<4x6xf32>)
    ```
  }];
  let arguments = (ins StrAttr:$op_name,
                       Variadic<AnyStaticShapeMemRef>:$inputs,
                       Variadic<AnyStaticShapeMemRef>:$outputs,
                       DefaultValuedAttr<DictionaryAttr, "{}">:$op_attributes,
                       OptionalAttr<ArrayAttr>:$valid,
                       OptionalAttr<ArrayAttr>:$valid_dims);
  let assemblyFormat = [{
    $op_name `(` $inputs `)` `into` `(` $outputs `)` attr-dict `:`
    `(` type($inputs) `)` `into` `(` type($outputs) `)`
  }];
  let hasVerifier = 1;
}

#endif // TP_IR_CUSTOMOPS_TD
