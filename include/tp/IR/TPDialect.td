//===- TPDialect.td - the dialect `tp` ---------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_TPDIALECT_TD
#define TP_IR_TPDIALECT_TD

include "mlir/IR/OpBase.td"

def TP_Dialect : Dialect {
  let name = "tp";
  let cppNamespace = "::tp";
  let summary = "Layouts of tensors on a device mesh, and what changes them";
  let description = [{
    A *layout* says how one tensor lies on a *mesh* of ranks: every mesh axis
    replicates it, shards one of its dimensions, or holds it as partial values
    that combine to the real one. Layouts stand as the encoding of ordinary
    ranked tensor types between `tp-materialize` and `tp-partition`; before and
    after, types are plain.

    Discardable attributes of the dialect:

    | attribute | on | meaning |
    |---|---|---|
    | `tp.name`, `tp.kind` | arguments, results | the exporter's name and kind |
    | `tp.unsigned` | arguments, results | files, the manifest and the C ABI have the port's integers as unsigned ones: `u32`, not `i32` |
    | `tp.modules` | module | the exporter's module table |
    | `tp.mesh` | module | the mesh the program is split over |
    | `tp.pin` | arguments, results | what the plan asks: a dictionary from axis name to `#tp.placement`, or to what tp-propagate is to choose: "sharded", "any", "as_parameter" |
    | `tp.auto` | module | the axes whose layouts no entry names are left to tp, an array of names |
    | `tp.bindings` | module | what every plan entry bound: entry, module, style, status, values |
    | `tp.layout` | arguments, results | layout of a function port |
    | `tp.global_type` | arguments, results | a port's unsharded type, after `tp-partition` |
    | `tp.strategy` | any op | the strategy `tp-propagate` chose, `#tp.strategy` |
    | `tp.result_layouts` | any op | the layouts of its results, after `tp-propagate` |
    | `tp.reason` | layout changes, collectives | why they exist, for reports |
    | `tp.causes`, `tp.cause`, `tp.expected` | makers of values, layout changes and collectives, `tp.constrain` | what forces a change, for explanations (tp/IR/CauseAttributes.h) |
    | `tp.payload_elements` | collectives after `tp-partition` | how many elements of the larger side are no padding, on the rank that has most, where some are |
    | `tp.values` | any op | ids of its results' values, read by the simulator only |
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

#endif // TP_IR_TPDIALECT_TD
