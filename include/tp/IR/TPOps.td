//===- TPOps.td - layout changes and collectives -----------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Collectives have two forms, told apart by their types. Between
// tp-materialize and tp-partition operand and result carry layouts, shapes are
// global, and the verifier checks the layouts. After tp-partition types are
// plain, shapes are a rank's, and the verifier checks the shapes.
//
// Axes may be named whole or in parts, whichever way operand and result split
// them: layouts that say the same of every rank are not told apart.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_TPOPS_TD
#define TP_IR_TPOPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tp/IR/PlanOps.td"

class TP_Op<string mnemonic, list<Trait> traits = []>
    : Op<TP_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// What a plan asks for
//===----------------------------------------------------------------------===//

def TP_ConstrainOp : TP_Op<"constrain", [Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "Pins the layout of a value on one axis";
  let description = [{
    The result is the operand. On `axis` its layout is `placement`, whose
    dimension counts in `view`: the shape that the module sees, with as many
    elements as the value, in the same row-major order. `shard<d>` shards the
    major part of view dimension d.

    With `lazy` and a replicated placement the value may also stay partial, if an
    all_reduce reduces it later, at the latest legal point.

    `tp-normalize` adds `dims`: the dimensions of the value that the sharded
    dimension became (heads and their size; the three parts of a packed
    projection, heads and their size). Any of them may be sharded, in any chunks.

    `module` and `port` name the boundary. The op's location is the plan entry's.

    ```mlir
    %y = tp.constrain %x on "tp" of <"tp" = 4> to shard<2> view [2, 32, 128] at "layers.0.attention.wq" "output" : tensor<64x128xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, TP_MeshAttr:$mesh, StrAttr:$axis,
                       TP_PlacementAttr:$placement, DenseI64ArrayAttr:$view,
                       StrAttr:$module, StrAttr:$port, UnitAttr:$lazy,
                       OptionalAttr<DenseI64ArrayAttr>:$dims);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `on` $axis `of` $mesh `to` custom<Placement>($placement) `view` $view
    (`dims` $dims^)? (`lazy` $lazy^)? `at` $module $port attr-dict `:` type($source)
  }];
  let hasVerifier = 1;
  let hasFolder = 1;
}

//===----------------------------------------------------------------------===//
// Layout changes
//===----------------------------------------------------------------------===//

def TP_KeptOp : TP_Op<"kept", [Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "A value that others are computed from again";
  let description = [{
    The result is the operand, in the same memory. No cleanup sees through the
    op, so what is computed of the result is not merged with what is computed of
    the operand: the one is computed in the backward pass, where it stands, the
    other in the forward pass. The layouts of both are the same, up to a slice
    that a rank makes without communication, so that a value which is brought
    together for the forward pass is not kept for the backward pass.

    `tp-recompute` makes these ops, and `tp.export_jax` for what `jax.checkpoint`
    wraps. tp-assign-storage puts `tp.resume` in their place.

    ```mlir
    %k = tp.kept %x : tensor<64x128xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source)";
}

def TP_NeededOp : TP_Op<"needed", [Pure, AllTypesMatch<["source", "result"]>]> {
  let summary = "A value of which some elements are needed";
  let description = [{
    The result is the operand where `condition` is true. Other elements may have
    any value, and nothing depends on them: what makes the operand need not make
    them. The condition has a dimension for each of the operand's, of one element
    where it does not depend on that.

    `tp-skip-rows` makes these ops, and tp-assign-storage puts products and kernels
    of some rows in their place.

    ```mlir
    %n = tp.needed %y where %chosen : tensor<4x6x8xf32>, tensor<4x6x1xi1>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, RankedTensorOf<[I1]>:$condition);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $source `where` $condition attr-dict `:` type($source) `,` type($condition)
  }];
  let hasVerifier = 1;
}

def TP_RedistributeOp : TP_Op<"redistribute", [Pure]> {
  let summary = "The same value in another layout";
  let description = [{
    Operand and result have the same shape and element type and layouts on the
    same mesh. `tp-insert-collectives` turns it into collectives.

    ```mlir
    %y = tp.redistribute %x : tensor<4x8xf32, #tp.layout<<"tp" = 2>, [partial<sum>]>> to tensor<4x8xf32, #tp.layout<<"tp" = 2>, [replicate]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
}

class TP_CollectiveOp<string mnemonic, list<Trait> traits = []>
    : TP_Op<mnemonic, !listconcat(traits, [Pure])> {
  let results = (outs AnyRankedTensor:$result);
  let hasVerifier = 1;
}

def TP_AllReduceOp : TP_CollectiveOp<"all_reduce"> {
  let summary = "Combines the ranks' partial values; every rank gets the result";
  let description = [{
    Layouts: partial of kind `reduction` on `axes` becomes replicate.

    ```mlir
    %y = tp.all_reduce sum %x over <<"tp" = 4>, ["tp"]> : tensor<4x8xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, TP_ReductionAttr:$reduction, TP_AxesAttr:$axes);
  let assemblyFormat = "custom<Reduction>($reduction) $source `over` $axes attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
}

def TP_AllGatherOp : TP_CollectiveOp<"all_gather"> {
  let summary = "Concatenates the ranks' shards of one dimension";
  let description = [{
    Layouts: `axes`, the minor-most that shard `dim`, become replicate. Plain
    types: the result has the blocks of the group one after the other along `dim`.

    ```mlir
    %y = tp.all_gather %x dim 1 over <<"tp" = 4>, ["tp"]> : tensor<4x2xf32> -> tensor<4x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, I64Attr:$dim, TP_AxesAttr:$axes);
  let assemblyFormat = "$source `dim` $dim `over` $axes attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
}

def TP_ReduceScatterOp : TP_CollectiveOp<"reduce_scatter"> {
  let summary = "Combines partial values; every rank gets its shard of them";
  let description = [{
    Layouts: partial of kind `reduction` on `axes` becomes shard of `dim`, the
    new axes being the minor-most on that dimension.

    ```mlir
    %y = tp.reduce_scatter sum %x dim 1 over <<"tp" = 4>, ["tp"]> : tensor<4x8xf32> -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, TP_ReductionAttr:$reduction, I64Attr:$dim, TP_AxesAttr:$axes);
  let assemblyFormat = "custom<Reduction>($reduction) $source `dim` $dim `over` $axes attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
}

def TP_AllToAllOp : TP_CollectiveOp<"all_to_all"> {
  let summary = "Moves the sharding from one dimension to another";
  let description = [{
    Layouts: `axes`, the minor-most that shard `concat_dim`, become the
    minor-most that shard `split_dim`. Plain types: every rank cuts `split_dim`
    into as many blocks as the group has ranks, sends block r to rank r, and
    concatenates the received blocks along `concat_dim`.

    ```mlir
    %y = tp.all_to_all %x split 0 concat 1 over <<"tp" = 4>, ["tp"]> : tensor<4x2xf32> -> tensor<1x8xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, I64Attr:$splitDim, I64Attr:$concatDim, TP_AxesAttr:$axes);
  let assemblyFormat = "$source `split` $splitDim `concat` $concatDim `over` $axes attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
}

def TP_PermuteOp : TP_CollectiveOp<"permute"> {
  let summary = "Every rank takes the whole buffer of another rank";
  let description = [{
    The member at position i of the group over `axes` receives the buffer of
    the member at position `sources[i]`. Layouts: any two under which every rank
    then has what the result's layout requires (another order of the axes on one
    dimension, for example). Other axes may be partial and stay so.

    ```mlir
    %y = tp.permute %x sources [1, 2, 3, 0] over <<"tp" = 4>, ["tp"]> : tensor<4x2xf32> -> tensor<4x2xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, DenseI64ArrayAttr:$sources, TP_AxesAttr:$axes);
  let assemblyFormat = "$source `sources` $sources `over` $axes attr-dict `:` type($source) `->` type($result)";
  let hasFolder = 1;
}

def TP_ReinterpretOp : TP_Op<"reinterpret", [Pure]> {
  let summary = "The same buffers under an equivalent layout";
  let description = [{
    No communication. The layouts differ only in spelling: an even dimension
    sharded over an axis or over its sub-axes, a unit that changes no chunk, an
    axis of size 1. `tp-partition` replaces the op by its operand.

    ```mlir
    %y = tp.reinterpret %x : tensor<8xf32, #tp.layout<<"tp" = 2>, [shard<0>]>> to tensor<8xf32, #tp.layout<<"tp" = 2>, [shard<0, unit = 4>]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source attr-dict `:` type($source) `to` type($result)";
  let hasVerifier = 1;
}

def TP_LocalSliceOp : TP_Op<"local_slice", [Pure]> {
  let summary = "Every rank keeps its shard of a replicated dimension";
  let description = [{
    No communication. Layouts: replicate on `axes` becomes shard of `dim`, the
    new axes being the minor-most on it. `tp-partition` replaces the op.

    ```mlir
    %y = tp.local_slice %x dim 0 over <<"tp" = 2>, ["tp"]> : tensor<4x8xf32, #tp.layout<<"tp" = 2>, [replicate]>> -> tensor<4x8xf32, #tp.layout<<"tp" = 2>, [shard<0>]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, I64Attr:$dim, TP_AxesAttr:$axes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "$source `dim` $dim `over` $axes attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TP_LocalPartialOp : TP_Op<"local_partial", [Pure]> {
  let summary = "A replicated value becomes partial";
  let description = [{
    No communication. Layouts: replicate on `axes` becomes partial of kind
    `reduction`. The first rank of a group keeps the value, the others take the
    identity; for avg, max and min every rank keeps the value. `tp-partition`
    replaces the op.

    ```mlir
    %y = tp.local_partial sum %x over <<"tp" = 2>, ["tp"]> : tensor<4xf32, #tp.layout<<"tp" = 2>, [replicate]>> -> tensor<4xf32, #tp.layout<<"tp" = 2>, [partial<sum>]>>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$source, TP_ReductionAttr:$reduction, TP_AxesAttr:$axes);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = "custom<Reduction>($reduction) $source `over` $axes attr-dict `:` type($source) `->` type($result)";
  let hasVerifier = 1;
}

def TP_AxisIndexOp : TP_Op<"axis_index", [Pure]> {
  let summary = "This rank's position along axis parts";
  let description = [{
    In [0, group size), the first part being the major one.

    ```mlir
    %i = tp.axis_index over <<"tp" = 4>, ["tp"]> : index
    ```
  }];
  let arguments = (ins TP_AxesAttr:$axes);
  let results = (outs Index:$result);
  let assemblyFormat = "`over` $axes attr-dict `:` type($result)";
}

//===----------------------------------------------------------------------===//
// Keys that travel
//===----------------------------------------------------------------------===//

def TP_AttendOp : TP_Op<"attend", [Pure]> {
  let summary = "Adds a chunk of keys to an attention";
  let description = [{
    Attention whose keys and values come in chunks, in any order (ring attention;
    H. Liu, M. Zaharia and P. Abbeel, 2023). The result is what the keys up to now
    make of every query i, batch x heads x queries x (columns of v + 2):

    | columns | what |
    |---|---|
    | those of v | the sum over keys j of exp(s[i, j] - m[i]) * v[j] |
    | the last but one | m[i], the maximum of the scores s[i, j] = scale * q[i] . k[j] + bias[i, j]; minus infinity without keys |
    | the last | the sum over keys j of exp(s[i, j] - m[i]) |

    So attention is the first columns divided by the last one, once all chunks are
    in. `onto` is the state that the chunk is added to; without it the chunk is the
    first. The state has f32, or f64 for q, k and v of f64.

    The shapes are batch x heads x queries x head size for q, batch x key/value
    heads x keys x head size for k, the same with v's columns for v. The bias has
    batch, heads and queries, or 1 in place of each, by keys; or of i64, in place
    of keys, two numbers: the first key that a query sees, and the one behind the
    last. `pairs` is how many keys the queries of a head see, for listings.

    tp-form-attention makes this op, tp-assign-storage a `tp.attention` of it.

    ```mlir
    %1 = tp.attend %q, %k, %v bias %spans onto %0 scale 1.250000e-01 pairs 8 : (tensor<1x2x4x8xf32>, tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32>, tensor<1x1x4x2xi64>, tensor<1x2x4x10xf32>) -> tensor<1x2x4x10xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v,
                       AnyRankedTensor:$bias, Optional<AnyRankedTensor>:$onto,
                       F64Attr:$scale, I64Attr:$pairs);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    $q `,` $k `,` $v `bias` $bias (`onto` $onto^)? `scale` $scale `pairs` $pairs
    attr-dict `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

def TP_AttendBackwardOp : TP_Op<"attend_backward", [Pure]> {
  let summary = "The gradients of an attention";
  let description = [{
    The gradients with respect to q, k and v of an attention whose result o has
    the gradient `go` (T. Dao et al., "FlashAttention", 2022). With the scores
    s[i, j] = scale * q[i] . k[j] + bias[i, j] and

        p[i, j] = exp(s[i, j] - m[i] - log l[i])
        d[i, j] = p[i, j] * (go[i] . v[j] - delta[i])

    the results are, for every batch and head,

    | result | what | shape |
    |---|---|---|
    | gq | scale * sum over j of d[i, j] * k[j] | q's |
    | gk | scale * sum over i of d[i, j] * q[i] | batch x heads x keys x head size |
    | gv | sum over i of p[i, j] * go[i] | batch x heads x keys x columns of v |

    `lse`, batch x heads x queries x 2, has m[i] and log l[i]: of a state of
    `tp.attend` its maximum and the logarithm of its last column; 0 and plus
    infinity of a query that sees no key and whose result is 0: whatever its scores
    are, its p[i, j] and d[i, j] are 0. They are apart since log l has no digits
    beside a maximum such as that of masked scores.
    `delta`, batch x heads x queries x 1, is o[i] . go[i]. Both are of f32, or f64
    where q is.
    The shapes of q, k, v and the bias are those of `tp.attend`; go has v's columns.
    Heads that share keys have gradients of their own. The results have q's
    element type, or that of the sums.

    Where the keys are one chunk of several, `onto` is gq of the chunks before, to
    which this one's is added. Then the results have the element type of the sums.

    Nothing is as large as queries by keys. tp-form-attention makes this op,
    tp-assign-storage a `tp.attention_backward` of it.

    ```mlir
    %0:3 = tp.attend_backward %q, %k, %v bias %spans from %go lse %lse delta %delta scale 1.250000e-01 pairs 8 : (tensor<1x2x4x8xf32>, tensor<1x1x2x8xf32>, tensor<1x1x2x8xf32>, tensor<1x1x4x2xi64>, tensor<1x2x4x8xf32>, tensor<1x2x4x2xf32>, tensor<1x2x4x1xf32>) -> (tensor<1x2x4x8xf32>, tensor<1x2x2x8xf32>, tensor<1x2x2x8xf32>)
    ```
  }];
  let arguments = (ins AnyRankedTensor:$q, AnyRankedTensor:$k, AnyRankedTensor:$v,
                       AnyRankedTensor:$bias, AnyRankedTensor:$go,
                       AnyRankedTensor:$lse, AnyRankedTensor:$delta,
                       Optional<AnyRankedTensor>:$onto,
                       F64Attr:$scale, I64Attr:$pairs);
  let results = (outs AnyRankedTensor:$gq, AnyRankedTensor:$gk,
                      AnyRankedTensor:$gv);
  let assemblyFormat = [{
    $q `,` $k `,` $v `bias` $bias `from` $go `lse` $lse `delta` $delta
    (`onto` $onto^)? `scale` $scale `pairs` $pairs attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TP_IR_TPOPS_TD
