//===- TPAttributes.td - mesh, layout, strategy ------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_TPATTRIBUTES_TD
#define TP_IR_TPATTRIBUTES_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/TensorEncoding.td"
include "tp/IR/TPDialect.td"

class TP_Attr<string name, string attrMnemonic, list<Trait> traits = []>
    : AttrDef<TP_Dialect, name, traits> {
  let mnemonic = attrMnemonic;
}

// The values of tp/Sharding are compared and hashed by themselves; they need no
// allocator because storages run their destructors.
class TP_ValueParameter<string type, string desc>
    : AttrParameter<type, desc> {
  let cppAccessorType = "const " # type # " &";
}

def TP_MeshAttr : TP_Attr<"Mesh", "mesh"> {
  let summary = "Named axes of a grid of ranks";
  let description = [{
    Ranks are counted with the last axis fastest; an optional device order
    names the rank at every position.

    ```mlir
    #tp.mesh<"tp" = 4>
    #tp.mesh<"dp" = 2, "tp" = 4>
    #tp.mesh<"dp" = 2, "tp" = 2, devices = [0, 2, 1, 3]>
    ```

    Rules: at least one axis, names unique and not empty, sizes at least 1, the
    device order a permutation of all ranks.
  }];
  let parameters = (ins TP_ValueParameter<"::tp::Mesh", "axes and device order">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def TP_LayoutAttr : TP_Attr<"Layout", "layout", [
    DeclareAttrInterfaceMethods<VerifiableTensorEncoding>]> {
  let summary = "The layout of one tensor on a mesh";
  let description = [{
    One placement per mesh axis, in mesh order: `replicate`,
    `shard<dim>` or `partial<kind>` with kinds sum, avg, product, max and min.
    Options of a shard: `unit` (every chunk is a multiple of it; 1 if absent) and
    `segments` (the sizes of the segments of a packed dimension, each of which is
    sharded by itself).

    ```mlir
    tensor<16x32xf32, #tp.layout<<"tp" = 4>, [shard<1>]>>
    tensor<16x32xf32, #tp.layout<<"dp" = 2, "tp" = 4>, [shard<0>, partial<sum>]>>
    ```

    If several axes shard one dimension in another order than the mesh's, or if
    there are sub-axes, the layout names the axes, major first. A sub-axis is
    `"axis":major:size`: the axis is a grid of major x size x minor.

    ```mlir
    #tp.layout<<"dp" = 2, "tp" = 4>, ["tp" = shard<0>, "dp" = shard<0>]>
    #tp.layout<<"tp" = 8>, ["tp":1:2 = shard<0>, "tp":2:4 = replicate]>
    ```

    A dimension of size N over n shards is split as torch.chunk does: chunks have
    ceil(N / unit / n) units, trailing ranks have less or nothing, and the buffer
    of every rank has the chunk's size. Rules: every axis is used exactly once,
    sharded dimensions exist, axes on one dimension have the same unit and
    segments, segments add up to the size of the dimension.
  }];
  let parameters = (ins
    "::tp::MeshAttr":$mesh,
    TP_ValueParameter<"::tp::Layout", "a placement for every part of every axis">:$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    /// All axes replicate.
    static LayoutAttr getReplicated(MeshAttr mesh);
    /// The layout a type carries as its encoding, or null.
    static LayoutAttr of(::mlir::Type type);
    /// `type` with this layout as its encoding.
    ::mlir::RankedTensorType attachTo(::mlir::RankedTensorType type) const;
    /// The shape of every rank's buffer of a tensor of global shape `shape`.
    ::llvm::SmallVector<int64_t> localShape(::llvm::ArrayRef<int64_t> shape) const;
    /// The plain type of every rank's buffer of a tensor of type `type`.
    ::mlir::RankedTensorType localType(::mlir::RankedTensorType type) const;
    bool isReplicated() const { return getValue().isReplicated(); }
    bool hasPartial() const { return getValue().hasPartial(); }
  }];
}

def TP_StrategyAttr : TP_Attr<"Strategy", "strategy"> {
  let summary = "The choice of one op on every mesh axis";
  let description = [{
    In the order of the axes of a layout: `replicate` (every rank does all of the
    op), `split<f>` (the op's factor `f` is split; with `segments` every segment
    of it by itself) or `passthrough<kind, [slots]>` (the tensor operands in these
    slots are partial of this kind, and so are all results).

    ```mlir
    #tp.strategy<<"tp" = 4>, [split<2>]>
    #tp.strategy<<"tp" = 2>, [split<1, segments = [4, 2, 2]>]>
    #tp.strategy<<"dp" = 2, "tp" = 4>, [split<0>, passthrough<sum, [0, 1]>]>
    ```
  }];
  let parameters = (ins
    "::tp::MeshAttr":$mesh,
    TP_ValueParameter<"::tp::Strategy", "a choice for every part of every axis">:$value);
  let hasCustomAssemblyFormat = 1;
}

#endif // TP_IR_TPATTRIBUTES_TD
