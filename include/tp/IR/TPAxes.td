//===- TPAxes.td - lists of axes, single placements --------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_TPAXES_TD
#define TP_IR_TPAXES_TD

include "tp/IR/TPAttributes.td"

def TP_AxesAttr : TP_Attr<"Axes", "axes"> {
  let summary = "Axis parts of a mesh, major first";
  let description = [{
    The axes a collective runs over. The ranks that differ only in their
    position along these parts form one group, ordered by that position.

    ```mlir
    #tp.axes<<"dp" = 2, "tp" = 4>, ["tp"]>
    #tp.axes<<"tp" = 8>, ["tp":1:2]>
    ```
  }];
  let parameters = (ins
    "::tp::MeshAttr":$mesh,
    TP_ValueParameter<"::std::vector<::tp::AxisPart>", "axis parts, major first">:$parts);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// The number of ranks in one group.
    int64_t groupSize() const;
  }];
}

def TP_PlacementAttr : TP_Attr<"Placement", "placement"> {
  let summary = "The placement of a tensor on one axis";
  let description = [{
    One of `replicate`, `shard<dim>` (with `unit` and `segments` as in
    `#tp.layout`) and `partial<kind>`. In a plan a negative dimension counts
    from the back of the module's own view.

    ```mlir
    #tp.placement<shard<-1>>
    ```
  }];
  let parameters = (ins TP_ValueParameter<"::tp::Placement", "the placement">:$value);
  let hasCustomAssemblyFormat = 1;
}

def TP_ReductionAttr : TP_Attr<"Reduction", "reduction"> {
  let summary = "How partial values combine: sum, avg, product, max or min";
  let description = [{
    ```mlir
    #tp.reduction<sum>
    ```
  }];
  let parameters = (ins TP_ValueParameter<"::tp::ReductionKind", "the kind">:$value);
  let hasCustomAssemblyFormat = 1;
}

#endif // TP_IR_TPAXES_TD
