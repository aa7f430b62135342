//===- Passes.td - passes of Codegen -----------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_PASSES_TD
#define TP_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

def StoreWeights : Pass<"tp-store-weights", "::mlir::ModuleOp"> {
  let summary = "Store parameters in f16 or bf16";
  let description = [{
    A parameter of f32 with two dimensions or more becomes an argument of f16 or
    bf16. Its numbers are rounded once, when they are loaded, and `tp.rounded_from`
    on the argument tells the type that the model has it in. The program computes
    in f32: a product and a lookup widen each element where they use it, and an op
    that reads the parameter in another way reads a tensor that is widened before.
    Views of a parameter, and gathers of its shards, move elements as they are
    stored.

    The function is that of one rank, after tp-partition, so a parameter may be
    sharded in any way; layouts do not change. What several entries share has one
    type in all of them. A parameter that a result updates stays as it is, with a
    remark, and so do vectors (scales of norms, biases), buffers and parameters of
    another type than f32. If nothing is left to store, that is a warning.

    `type` is `f16` or `bf16`, and `target` is `cpu`.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>, %w: tensor<6x8xf32> {tp.name = "w", tp.kind = "parameter"}) -> tensor<4x6xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<4x6xf32>
      %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
      %y = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
          ins(%x, %w : tensor<4x8xf32>, tensor<6x8xf32>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    module {
      func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<6x8xf16> {tp.kind = "parameter", tp.name = "w", tp.rounded_from = f32}) -> tensor<4x6xf32> {
        %cst = arith.constant 0.000000e+00 : f32
        %0 = tensor.empty() : tensor<4x6xf32>
        %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
        %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<6x8xf16>) outs(%1 : tensor<4x6xf32>) {
        ^bb0(%in: f32, %in_0: f16, %out: f32):
          %3 = arith.extf %in_0 : f16 to f32
          %4 = arith.mulf %in, %3 : f32
          %5 = arith.addf %out, %4 : f32
          linalg.yield %5 : f32
        } -> tensor<4x6xf32>
        return %2 : tensor<4x6xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu'">,
    Option<"type", "type", "std::string", "\"f16\"", "'f16' or 'bf16'">,
  ];
  let statistics = [
    Statistic<"numStored", "num-stored", "Parameters stored in fewer bits">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def MergeGemms : Pass<"tp-merge-gemms", "::mlir::ModuleOp"> {
  let summary = "Merge products that read one matrix with weights of their own";
  let description = [{
    Products that read the same A, each with a parameter as B, become one product
    with all these parameters: q, k and v of an attention, gate and up of a
    feed-forward block. What they made are slices of its result. The function is
    that of one rank, after tp-partition, so a parameter may be sharded in any
    way, and the parts may differ in size and layout.

    The parameters are not copied. They stay arguments of their names, types and
    layouts, and lie in one memory, one behind the other. The function gets an
    argument for that memory, behind all others: its `tp.joined` are the numbers of
    the parameters. `tp.permutation` of a parameter is the order of its dimensions
    there, where that is not theirs: those of the columns of the result come first.

    A product is left alone if its parameter is read elsewhere too or updated by a
    result, if a collective or the caller reads its result, if its iterations are
    masked, or if a GEMM of the target adds to its sums or applies a function to
    them. Products far apart are left alone too: one that the program computes
    behind two contractions, one of the other, of what the first made.

    `target` is `cpu` or `cuda`.

    ```mlir
    func.func @main(%x: tensor<4x8xf32>, %gate: tensor<6x8xf32> {tp.name = "gate", tp.kind = "parameter"},
        %up: tensor<6x8xf32> {tp.name = "up", tp.kind = "parameter"}) -> tensor<4x6xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<4x6xf32>
      %init = linalg.fill ins(%zero : f32) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
      %g = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
          ins(%x, %gate : tensor<4x8xf32>, tensor<6x8xf32>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
      %u = linalg.matmul indexing_maps = [affine_map<(m, n, k) -> (m, k)>, affine_map<(m, n, k) -> (n, k)>, affine_map<(m, n, k) -> (m, n)>]
          ins(%x, %up : tensor<4x8xf32>, tensor<6x8xf32>) outs(%init : tensor<4x6xf32>) -> tensor<4x6xf32>
      %y = linalg.mul ins(%g, %u : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32>
      return %y : tensor<4x6xf32>
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    module {
      func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<6x8xf32> {tp.kind = "parameter", tp.name = "gate"}, %arg2: tensor<6x8xf32> {tp.kind = "parameter", tp.name = "up"}, %arg3: tensor<12x8xf32> {tp.joined = array<i64: 1, 2>}) -> tensor<4x6xf32> {
        %cst = arith.constant 0.000000e+00 : f32
        %0 = tensor.empty() : tensor<4x6xf32>
        %1 = tensor.empty() : tensor<4x12xf32>
        %2 = linalg.fill ins(%cst : f32) outs(%1 : tensor<4x12xf32>) -> tensor<4x12xf32>
        %3 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg3 : tensor<4x8xf32>, tensor<12x8xf32>) outs(%2 : tensor<4x12xf32>) {
        ^bb0(%in: f32, %in_1: f32, %out: f32):
          %5 = arith.mulf %in, %in_1 : f32
          %6 = arith.addf %out, %5 : f32
          linalg.yield %6 : f32
        } -> tensor<4x12xf32>
        %extracted_slice = tensor.extract_slice %3[0, 0] [4, 6] [1, 1] : tensor<4x12xf32> to tensor<4x6xf32>
        %extracted_slice_0 = tensor.extract_slice %3[0, 6] [4, 6] [1, 1] : tensor<4x12xf32> to tensor<4x6xf32>
        %4 = linalg.mul ins(%extracted_slice, %extracted_slice_0 : tensor<4x6xf32>, tensor<4x6xf32>) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
        return %4 : tensor<4x6xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect"];
}

def SkipRows : Pass<"tp-skip-rows", "::mlir::ModuleOp"> {
  let summary = "Note of which values some rows are needed, and of which sums some terms";
  let description = [{
    A mixture of experts whose experts are a dimension computes every token with
    every expert, and selects the results of those that a token has chosen. The
    pass looks from the end of the function at what is needed of every value: one
    side of a select where a stored condition says so, through element by element
    ops, views and products. It notes that with `tp.needed` behind products, and
    behind element by element ops, of which whole rows are not needed. What makes
    the condition moves before them. tp-assign-storage lets GEMMs (`rows`) and
    kernels (`where`) leave these rows out, where they lie so in memory. A select
    takes one side where its result is needed under its own condition.

    The gradient of an expert's weights is a sum over all tokens, of products of two
    tensors that are selected by one condition and zero elsewhere. Such a product
    gets the condition as an operand, and adds a term where it is true; GEMMs
    (`terms`) leave the others out.

    Results are the same. For processors; elsewhere the pass does nothing.

    ```mlir
    func.func @main(%x: tensor<6x32xf32>, %w: tensor<32x32xf32>, %chosen: tensor<6xi1>) -> tensor<6x32xf32> {
      %zero = arith.constant 0.0 : f32
      %e = tensor.empty() : tensor<6x32xf32>
      %f = linalg.fill ins(%zero : f32) outs(%e : tensor<6x32xf32>) -> tensor<6x32xf32>
      %y = linalg.matmul ins(%x, %w : tensor<6x32xf32>, tensor<32x32xf32>) outs(%f : tensor<6x32xf32>) -> tensor<6x32xf32>
      %t = linalg.tanh ins(%y : tensor<6x32xf32>) outs(%e : tensor<6x32xf32>) -> tensor<6x32xf32>
      %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
        ins(%chosen, %t : tensor<6xi1>, tensor<6x32xf32>) outs(%e : tensor<6x32xf32>) {
      ^bb0(%c: i1, %in: f32, %out: f32):
        %one = arith.constant 1.0 : f32
        %r = arith.select %c, %in, %one : f32
        linalg.yield %r : f32
      } -> tensor<6x32xf32>
      return %s : tensor<6x32xf32>
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0, d1) -> (d0)>
    #map1 = affine_map<(d0, d1) -> (d0, d1)>
    module {
      func.func @main(%arg0: tensor<6x32xf32>, %arg1: tensor<32x32xf32>, %arg2: tensor<6xi1>) -> tensor<6x32xf32> {
        %cst = arith.constant 0.000000e+00 : f32
        %0 = tensor.empty() : tensor<6x32xf32>
        %1 = linalg.fill ins(%cst : f32) outs(%0 : tensor<6x32xf32>) -> tensor<6x32xf32>
        %2 = tensor.empty() : tensor<6x1xi1>
        %3 = linalg.generic {indexing_maps = [#map, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg2 : tensor<6xi1>) outs(%2 : tensor<6x1xi1>) {
        ^bb0(%in: i1, %out: i1):
          linalg.yield %in : i1
        } -> tensor<6x1xi1>
        %4 = linalg.matmul ins(%arg0, %arg1 : tensor<6x32xf32>, tensor<32x32xf32>) outs(%1 : tensor<6x32xf32>) -> tensor<6x32xf32>
        %5 = tp.needed %4 where %3 : tensor<6x32xf32>, tensor<6x1xi1>
        %6 = linalg.tanh ins(%5 : tensor<6x32xf32>) outs(%0 : tensor<6x32xf32>) -> tensor<6x32xf32>
        %7 = tp.needed %6 where %3 : tensor<6x32xf32>, tensor<6x1xi1>
        %8 = linalg.generic {indexing_maps = [#map, #map1, #map1], iterator_types = ["parallel", "parallel"]} ins(%arg2, %7 : tensor<6xi1>, tensor<6x32xf32>) outs(%0 : tensor<6x32xf32>) {
        ^bb0(%in: i1, %in_0: f32, %out: f32):
          %cst_1 = arith.constant 1.000000e+00 : f32
          %9 = arith.select %in, %in_0, %cst_1 : f32
          linalg.yield %9 : f32
        } -> tensor<6x32xf32>
        return %8 : tensor<6x32xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
  let statistics = [
    Statistic<"numSkipped", "num-skipped", "Values of some rows">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::tensor::TensorDialect", "::tp::TPDialect"];
}

def FormAttention : Pass<"tp-form-attention", "::mlir::ModuleOp"> {
  let summary = "Find attention and rewrite it into steps";
  let description = [{
    Finds softmax(scale * q k^T + bias) v whose scores have no other use than,
    in a training step, the gradients of q, k and v. The pass
    compares the scalar expressions of elements, so reshapes, transposes,
    broadcasts, casts and fusions of the program do not matter. An attention
    becomes steps, one for each query block: a contraction, a masked softmax and a
    contraction, over the keys that these queries attend to. A mask that is known
    at compile time becomes bounds on the key's index minus the query's; any other
    mask becomes a tensor that is added. Operands of f16 and bf16 are multiplied
    as they are, and the products are added in f32.

    The attribute `tp.attention` on an op names its attention, its first query and
    key, and what the whole attention computes. tp-assign-storage makes one
    `tp.attention` of the steps, if their operands lie in memory as a library wants
    them. The CPU needs no steps without a library: there is one. For `target=cuda`
    `score-bytes` limits the bytes of the scores of one step; there are at most 64
    query blocks.

    On processors an attention with gradients becomes a `tp.attend`, whose state
    the result and the logarithm of each query's sum are made of, and a
    `tp.attend_backward` where the first gradient was; so no weights are kept. Of
    the gradients only what the products are made of counts, as a sum of products
    of a few elements: it does not matter how the derivative is written.

    Keys and values whose gathers have `tp.ring` travel instead (on processors): a
    `tp.permute` brings the next chunk from the neighbour, a `tp.attend` adds a
    chunk to the state of the queries, and the last state becomes the result. Which
    keys a chunk has depends on the rank that it comes from: what a query sees of
    it is computed from the index in the whole sequence. Such a gather that another
    op reads too is an error.

    The pass simplifies the function before and after.

    ```mlir
    func.func @main(%q: tensor<4x8xf32>, %k: tensor<6x8xf32>, %v: tensor<6x8xf32>) -> tensor<4x8xf32> {
      %zero = arith.constant 0.0 : f32
      %lowest = arith.constant 0xFF800000 : f32
      %e0 = tensor.empty() : tensor<4x6xf32>
      %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
      %s = linalg.matmul indexing_maps = [affine_map<(i, j, d) -> (i, d)>, affine_map<(i, j, d) -> (j, d)>, affine_map<(i, j, d) -> (i, j)>]
        ins(%q, %k : tensor<4x8xf32>, tensor<6x8xf32>) outs(%f0 : tensor<4x6xf32>) -> tensor<4x6xf32>
      %e1 = tensor.empty() : tensor<4xf32>
      %f1 = linalg.fill ins(%lowest : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
      %m = linalg.reduce { arith.maximumf } ins(%s : tensor<4x6xf32>) outs(%f1 : tensor<4xf32>) dimensions = [1]
      %mb = linalg.broadcast ins(%m : tensor<4xf32>) outs(%e0 : tensor<4x6xf32>) dimensions = [1]
      %d = linalg.sub ins(%s, %mb : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
      %e = linalg.exp ins(%d : tensor<4x6xf32>) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
      %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4xf32>) -> tensor<4xf32>
      %l = linalg.reduce { arith.addf } ins(%e : tensor<4x6xf32>) outs(%f2 : tensor<4xf32>) dimensions = [1]
      %lb = linalg.broadcast ins(%l : tensor<4xf32>) outs(%e0 : tensor<4x6xf32>) dimensions = [1]
      %p = linalg.div ins(%e, %lb : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e0 : tensor<4x6xf32>) -> tensor<4x6xf32>
      %e2 = tensor.empty() : tensor<4x8xf32>
      %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<4x8xf32>) -> tensor<4x8xf32>
      %o = linalg.matmul ins(%p, %v : tensor<4x6xf32>, tensor<6x8xf32>) outs(%f3 : tensor<4x8xf32>) -> tensor<4x8xf32>
      return %o : tensor<4x8xf32>
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0, d1, d2) -> (d0, d2)>
    #map1 = affine_map<(d0, d1, d2) -> (d1, d2)>
    #map2 = affine_map<(d0, d1, d2) -> (d0, d1)>
    #map3 = affine_map<(d0, d1) -> (d0, d1)>
    #map4 = affine_map<(d0, d1) -> (d0)>
    #map5 = affine_map<(d0, d1, d2) -> (d2, d1)>
    module {
      func.func @main(%arg0: tensor<4x8xf32>, %arg1: tensor<6x8xf32>, %arg2: tensor<6x8xf32>) -> tensor<4x8xf32> {
        %cst = arith.constant 0xFF800000 : f32
        %cst_0 = arith.constant 0.000000e+00 : f32
        %0 = tensor.empty() : tensor<4x6xf32>
        %1 = linalg.fill ins(%cst_0 : f32) outs(%0 : tensor<4x6xf32>) -> tensor<4x6xf32>
        %2 = linalg.generic {indexing_maps = [#map, #map1, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%arg0, %arg1 : tensor<4x8xf32>, tensor<6x8xf32>) outs(%1 : tensor<4x6xf32>) attrs =  {tp.attention = {batch = 0 : i64, id = 0 : i64, key = 0 : i64, keys = 6 : i64, queries = 4 : i64, query = 0 : i64, role = "scores", scale = 1.000000e+00 : f64}} {
        ^bb0(%in: f32, %in_1: f32, %out: f32):
          %13 = arith.mulf %in, %in_1 : f32
          %14 = arith.addf %out, %13 : f32
          linalg.yield %14 : f32
        } -> tensor<4x6xf32>
        %3 = tensor.empty() : tensor<4xf32>
        %4 = linalg.fill ins(%cst : f32) outs(%3 : tensor<4xf32>) -> tensor<4xf32>
        %5 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "reduction"]} ins(%2 : tensor<4x6xf32>) outs(%4 : tensor<4xf32>) attrs =  {tp.attention = {id = 0 : i64, role = "largest"}} {
        ^bb0(%in: f32, %out: f32):
          %13 = arith.maximumf %in, %out : f32
          linalg.yield %13 : f32
        } -> tensor<4xf32>
        %6 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel"]} ins(%2, %5 : tensor<4x6xf32>, tensor<4xf32>) outs(%0 : tensor<4x6xf32>) attrs =  {tp.attention = {id = 0 : i64, role = "exponential"}} {
        ^bb0(%in: f32, %in_1: f32, %out: f32):
          %13 = arith.subf %in, %in_1 : f32
          %14 = math.exp %13 : f32
          linalg.yield %14 : f32
        } -> tensor<4x6xf32>
        %7 = linalg.fill ins(%cst_0 : f32) outs(%3 : tensor<4xf32>) -> tensor<4xf32>
        %8 = linalg.generic {indexing_maps = [#map3, #map4], iterator_types = ["parallel", "reduction"]} ins(%6 : tensor<4x6xf32>) outs(%7 : tensor<4xf32>) attrs =  {tp.attention = {id = 0 : i64, role = "sum"}} {
        ^bb0(%in: f32, %out: f32):
          %13 = arith.addf %in, %out : f32
          linalg.yield %13 : f32
        } -> tensor<4xf32>
        %9 = linalg.generic {indexing_maps = [#map3, #map4, #map3], iterator_types = ["parallel", "parallel"]} ins(%6, %8 : tensor<4x6xf32>, tensor<4xf32>) outs(%0 : tensor<4x6xf32>) attrs =  {tp.attention = {id = 0 : i64, role = "weights"}} {
        ^bb0(%in: f32, %in_1: f32, %out: f32):
          %13 = arith.divf %in, %in_1 : f32
          linalg.yield %13 : f32
        } -> tensor<4x6xf32>
        %10 = tensor.empty() : tensor<4x8xf32>
        %11 = linalg.fill ins(%cst_0 : f32) outs(%10 : tensor<4x8xf32>) -> tensor<4x8xf32>
        %12 = linalg.generic {indexing_maps = [#map, #map5, #map2], iterator_types = ["parallel", "parallel", "reduction"]} ins(%9, %arg2 : tensor<4x6xf32>, tensor<6x8xf32>) outs(%11 : tensor<4x8xf32>) attrs =  {tp.attention = {batch = 0 : i64, id = 0 : i64, key = 0 : i64, query = 0 : i64, role = "output"}} {
        ^bb0(%in: f32, %in_1: f32, %out: f32):
          %13 = arith.mulf %in, %in_1 : f32
          %14 = arith.addf %out, %13 : f32
          linalg.yield %14 : f32
        } -> tensor<4x8xf32>
        return %12 : tensor<4x8xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
    Option<"scoreBytes", "score-bytes", "int64_t", "67108864",
           "Limit of the bytes of scores in one attention step, for 'cuda'; 0 "
           "leaves attention to GEMMs and kernels">,
  ];
  let statistics = [
    Statistic<"numFormed", "num-formed", "Attentions found">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::linalg::LinalgDialect",
                           "::mlir::math::MathDialect",
                           "::mlir::tensor::TensorDialect"];
}

def AssignStorage : Pass<"tp-assign-storage", "::mlir::ModuleOp"> {
  let summary = "Turn a rank's function on tensors into commands on memory";
  let description = [{
    Decides which values are stored and in what element order, and which
    contractions are GEMMs and what their epilogues are. The function then takes
    and returns memrefs, and its body is allocations and commands
    (tp/IR/ProgramOps.td). A stored value that no GEMM and no collective writes is
    computed by a kernel of its own, which has a copy of the ops that it evaluates.
    The program runs as it is; tp-form-kernels makes fewer kernels of it. Nothing
    has an offset yet.

    `target` is `cpu` or `cuda`. The steps that tp-form-attention made of an
    attention become one `tp.attention`; for `cuda` the commands that compute it
    without a library are inside.

    ```mlir
    func.func @main(%x: tensor<6xf32>) -> tensor<6xf32> {
      %0 = tensor.empty() : tensor<6xf32>
      %y = linalg.exp ins(%x : tensor<6xf32>) outs(%0 : tensor<6xf32>) -> tensor<6xf32>
      return %y : tensor<6xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<6xf32>) -> memref<6xf32> {
        %0 = tp.alloc : memref<6xf32>
        tp.kernel reads(%arg0 : memref<6xf32>) writes(%0 : memref<6xf32>) {
        ^bb0(%arg1: memref<6xf32>, %arg2: memref<6xf32>):
          %1 = bufferization.to_tensor %arg1 : memref<6xf32> to tensor<6xf32>
          %2 = tensor.empty() : tensor<6xf32>
          %3 = linalg.exp ins(%1 : tensor<6xf32>) outs(%2 : tensor<6xf32>) -> tensor<6xf32>
          %4 = tp.compute %3 into %arg2 : tensor<6xf32> into memref<6xf32>
        }
        return %0 : memref<6xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
}

include "tp/Codegen/KernelPasses.td"
include "tp/Codegen/MemoryPasses.td"
include "tp/Codegen/SchedulePasses.td"

#endif // TP_CODEGEN_PASSES_TD
