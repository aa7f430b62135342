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

    Factor `f` of a linalg op is loop `f` of its indexing maps, of an elementwise
    op dimension `f`; docs/adding-a-rule.md shows how to print the factors of any
    op. Under a split loop that reduces, the results are partial of the kind of
    the reduction, and so are the inits. `passthrough<sum, []>` of an op
    that reads no tensor (`tensor.empty`, or `linalg.fill` with 0) makes the
    result partial: every rank writes the identity of the reduction.

    ```mlir
    #tp.strategy<<"tp" = 4>, [split<2>]>
    #tp.strategy<<"tp" = 2>, [split<1, segments = [4, 2, 2]>]>
    #tp.strategy<<"dp" = 2, "tp" = 4>, [split<0>, passthrough<sum, [0, 1]>]>
    ```

    A column-parallel GEMM, a relu and a row-parallel GEMM as `tp-propagate`
    leaves them. The columns of the first are loop 1 (d1). The second contracts
    over them, its loop 2, so its result is partial; the function's result is
    replicated, which makes one all_reduce.

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    #R = #tp.layout<#mesh, [replicate]>
    #rows = #tp.layout<#mesh, [shard<0>]>
    #columns = #tp.layout<#mesh, [shard<1>]>
    #sum = #tp.layout<#mesh, [partial<sum>]>
    #split1 = #tp.strategy<#mesh, [split<1>]>
    #split2 = #tp.strategy<#mesh, [split<2>]>
    #identity = #tp.strategy<#mesh, [passthrough<sum, []>]>
    module attributes {tp.mesh = #mesh} {
      func.func @main(%x: tensor<2x8xf32> {tp.layout = #R}, %up: tensor<8x16xf32> {tp.layout = #columns}, %down: tensor<16x8xf32> {tp.layout = #rows}) -> (tensor<2x8xf32> {tp.layout = #R}) {
        %zero = arith.constant 0.0 : f32
        %e0 = tensor.empty() {tp.strategy = #split1, tp.result_layouts = [#columns]} : tensor<2x16xf32>
        %zeros = linalg.fill {tp.strategy = #split1, tp.result_layouts = [#columns]} ins(%zero : f32) outs(%e0 : tensor<2x16xf32>) -> tensor<2x16xf32>
        %h = linalg.matmul {tp.strategy = #split1, tp.result_layouts = [#columns]} ins(%x, %up : tensor<2x8xf32>, tensor<8x16xf32>) outs(%zeros : tensor<2x16xf32>) -> tensor<2x16xf32>
        %relu = linalg.max {tp.strategy = #split1, tp.result_layouts = [#columns]} ins(%h, %zeros : tensor<2x16xf32>, tensor<2x16xf32>) outs(%e0 : tensor<2x16xf32>) -> tensor<2x16xf32>
        %e1 = tensor.empty() {tp.strategy = #identity, tp.result_layouts = [#sum]} : tensor<2x8xf32>
        %init = linalg.fill {tp.strategy = #identity, tp.result_layouts = [#sum]} ins(%zero : f32) outs(%e1 : tensor<2x8xf32>) -> tensor<2x8xf32>
        %y = linalg.matmul {tp.strategy = #split2, tp.result_layouts = [#sum]} ins(%relu, %down : tensor<2x16xf32>, tensor<16x8xf32>) outs(%init : tensor<2x8xf32>) -> tensor<2x8xf32>
        return %y : tensor<2x8xf32>
      }
    }
    ```
  }];
  let parameters = (ins
    "::tp::MeshAttr":$mesh,
    TP_ValueParameter<"::tp::Strategy", "a choice for every part of every axis">:$value);
  let hasCustomAssemblyFormat = 1;
}

#endif // TP_IR_TPATTRIBUTES_TD
