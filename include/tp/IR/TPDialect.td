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
  let summary = "Layouts of tensors on a device mesh, and their redistribution";
  let description = [{
    A *layout* distributes one tensor over a *mesh* of ranks: every mesh axis
    replicates the tensor, shards one of its dimensions, or has partial values
    of it that a reduction combines. A layout is the encoding of an ordinary
    ranked tensor type between `tp-materialize` and `tp-partition`; before and
    after, types are plain.

    Discardable attributes of the dialect:

    | attribute | on | meaning |
    |---|---|---|
    | `tp.joined`, `tp.permutation` | arguments of a rank's program | of joined memory, the numbers of the arguments that lie in it; of these, the order of their dimensions there |
    | `tp.rounded_from` | parameters of a rank's program | the element type that the model has the parameter in; the type here is what it is rounded to when it is loaded |
    | `tp.on_tensors_done` | modules | the stages of the back end on tensors have run, on the layers that tp-repeat-layers kept |
    | `tp.copied` | results of a rank's program | why the result is not in the memory of the argument that it updates, but copied there |
    | `tp.mapping`, `tp.queue`, `tp.with_previous` | kernels, commands, collectives of a rank's program | for devices: how the kernel's loops lie on threads; the queue that runs the command, "compute" or "communication"; the collective starts as one with the one before it |
    | `tp.name`, `tp.kind`, `tp.aliases` | arguments, results | the exporter's name and kind; of a tied weight, a list of its other names |
    | `tp.updates` | results | the argument whose next value the result is: its `tp.name`, or `kind:name` |
    | `tp.unsigned` | arguments, results | in files, the manifest and the C ABI the integers of the port are unsigned: `u32`, not `i32` |
    | `tp.modules` | module | the exporter's module table |
    | `tp.calls` | function | how often an entry runs, relative to the others: 1 to 1000 |
    | `tp.part_of`, `tp.times` | function; from `tp-outline-loops` | the entry that the function is a part of, and how often a step of the entry runs it |
    | `tp.mesh` | module | the mesh that the program is sharded over |
    | `tp.pin` | arguments, results | what the plan asks for: a dictionary from axis name to `#tp.placement`, or to what tp-propagate chooses: "sharded", "any", "carried", "as_parameter" |
    | `tp.auto` | module | the names of the axes on which tp chooses the layouts that no entry names |
    | `tp.bindings` | module | what every plan entry bound: entry, module, style, status, values |
    | `tp.layout` | arguments, results | the port's layout |
    | `tp.global_type` | arguments, results | the port's unsharded type, after `tp-partition` |
    | `tp.strategy` | any op | the strategy `tp-propagate` chose, `#tp.strategy` |
    | `tp.result_layouts` | any op | the layouts of its results, after `tp-propagate` |
    | `tp.reason` | redistributions, collectives | why they exist, for reports |
    | `tp.causes` | arguments, any op; from `tp-propagate` to `tp-materialize` | what causes the redistributions of the value, for explanations (tp/IR/CauseAttributes.h) |
    | `tp.cause` | redistributions, collectives | the same of this one: the uses that required it, and the entries of `tp.causes` |
    | `tp.gather` | `tp.constrain` of a fully sharded parameter, and the change of layout and collectives that it becomes | the pass that it is gathered for: `forward`, `backward`. Each gather is one of its own, where it stands |
    | `tp.ring` | `tp.constrain` of keys or values, and the change of layout and gather that it becomes | no rank holds all of them at once: tp-form-attention lets them travel from rank to rank |
    | `tp.recompute` | functions, from `tp-apply-plan` to `tp-recompute` | the names of the modules whose values are computed again in the backward pass |
    | `tp.recomputed` | `tp.constrain` | the pin is a copy in the backward pass, of one in the forward pass |
    | `tp.expected` | `tp.constrain` | the pin states the layout that the value is expected to have; it asks for no collective that converts it |
    | `tp.payload_elements` | collectives after `tp-partition` | if there is padding: how many elements of the larger side are not padding, on the rank that has most |
    | `tp.attention` | ops of an attention step | which attention the op is a step of, its first query and key, and what the attention computes; from `tp-form-attention` to the artifact |
    | `tp.check` | `scf.if` in a kernel | the status store of a failed assertion, which may leave loops |
    | `tp.values` | any op | for every result `{id = N}`, for the simulator; after `tp-partition` `{id, layout, type}` with the value's layout and its global type, for `tp-verify-partitioned` too. Passes may drop it; on an op that has lost its results it means nothing |
  }];
  let useDefaultAttributePrinterParser = 1;
  let hasOperationAttrVerify = 1;
  let dependentDialects = ["::mlir::tensor::TensorDialect",
                           "::mlir::arith::ArithDialect"];
}

#endif // TP_IR_TPDIALECT_TD
