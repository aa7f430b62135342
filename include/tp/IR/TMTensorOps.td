//===- TMTensorOps.td - the ops of tm_tensor ---------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// torch-mlir writes what linalg cannot express in a dialect of its own, which
// upstream MLIR does not have. These are its ops as far as exports contain
// them, in their textual form: tp reads all of them, compiles scatter, and says
// of the others at their place what to write instead.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_TMTENSOROPS_TD
#define TP_IR_TMTENSOROPS_TD

include "mlir/IR/OpBase.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def TMTensor_Dialect : Dialect {
  let name = "tm_tensor";
  let cppNamespace = "::tp::tm_tensor";
  let summary = "The ops of torch-mlir that linalg cannot express";
}

class TMTensor_Op<string mnemonic, list<Trait> traits = []>
    : Op<TMTensor_Dialect, mnemonic, traits>;

def TMTensor_ScatterOp : TMTensor_Op<"scatter", [RecursiveMemoryEffects, SingleBlock]> {
  let summary = "Writes slices of a tensor at positions known at run time";
  let description = [{
    Row `n` of `indices` is the position of slice `n` of `updates` in `original`:
    its number `k` is the index along dimension `dimension_map[k]`. The dimensions
    of a slice are the last ones of the original. The region gets the new and the
    old element and yields the element to write. Slices at the same position are
    written in their order; `unique_indices` promises that there are none.

    A slice must be inside the original: `tp-legalize` adds an assertion, as for
    all positions that are known only at run time.

    ```mlir
    %y = tm_tensor.scatter {dimension_map = array<i64: 1>} unique_indices(true)
        ins(%new, %at : tensor<3x4x1xf32>, tensor<3x1xi64>) outs(%x : tensor<4x9xf32>) {
    ^bb0(%update: f32, %old: f32):
      tm_tensor.yield %update : f32
    } -> tensor<4x9xf32>
    ```
  }];
  let arguments = (ins AnyRankedTensor:$updates, AnyRankedTensor:$indices,
                       AnyRankedTensor:$original, DenseI64ArrayAttr:$dimension_map,
                       BoolAttr:$unique_indices);
  let regions = (region SizedRegion<1>:$region);
  let results = (outs AnyRankedTensor:$result);
  let assemblyFormat = [{
    attr-dict `unique_indices` `(` $unique_indices `)`
    `ins` `(` $updates `,` $indices `:` type($updates) `,` type($indices) `)`
    `outs` `(` $original `:` type($original) `)` $region `->` type($result)
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def TMTensor_YieldOp : TMTensor_Op<"yield", [Pure, ReturnLike, Terminator]> {
  let summary = "Ends the region of an op of tm_tensor";
  let arguments = (ins Variadic<AnyType>:$values);
  let assemblyFormat = "attr-dict ($values^ `:` type($values))?";
}

//===----------------------------------------------------------------------===//
// Read and refused
//===----------------------------------------------------------------------===//

class TMTensor_RefusedOp<string mnemonic>
    : TMTensor_Op<mnemonic, [AttrSizedOperandSegments]> {
  let results = (outs Variadic<AnyRankedTensor>:$results);
}

def TMTensor_ScanOp : TMTensor_RefusedOp<"scan"> {
  let summary = "Running sums (or other combinations) along a dimension";
  let arguments = (ins I64Attr:$dimension, BoolAttr:$inclusive,
                       Variadic<AnyType>:$inputs, Variadic<AnyType>:$outputs);
  let regions = (region AnyRegion:$region);
  let assemblyFormat = [{
    attr-dict `dimension` `(` $dimension `)` `inclusive` `(` $inclusive `)`
    `ins` `(` $inputs `:` type($inputs) `)` `outs` `(` $outputs `:` type($outputs) `)`
    $region (`->` type($results)^)?
  }];
}

def TMTensor_SortOp : TMTensor_RefusedOp<"sort"> {
  let summary = "Elements in order along a dimension";
  let arguments = (ins I64Attr:$dimension, Variadic<AnyType>:$inputs,
                       Variadic<AnyType>:$outputs);
  let regions = (region AnyRegion:$region);
  let assemblyFormat = [{
    attr-dict `dimension` `(` $dimension `)` (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)` $region (`->` type($results)^)?
  }];
}

def TMTensor_TopkOp : TMTensor_RefusedOp<"topk"> {
  let summary = "The first elements of an order along a dimension";
  let arguments = (ins I64Attr:$dimension, Variadic<AnyType>:$inputs,
                       Variadic<AnyType>:$outputs);
  let regions = (region AnyRegion:$region);
  let assemblyFormat = [{
    attr-dict `dimension` `(` $dimension `)` (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)` $region (`->` type($results)^)?
  }];
}

def TMTensor_AttentionOp : TMTensor_RefusedOp<"attention"> {
  let summary = "Scaled dot product attention as one op";
  let arguments = (ins Variadic<AnyType>:$inputs, Variadic<AnyType>:$outputs);
  let assemblyFormat = [{
    attr-dict (`ins` `(` $inputs^ `:` type($inputs) `)`)?
    `outs` `(` $outputs `:` type($outputs) `)` (`->` type($results)^)?
  }];
}

#endif // TP_IR_TMTENSOROPS_TD
