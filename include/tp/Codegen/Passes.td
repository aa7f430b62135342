//===- Passes.td - passes of Codegen -----------------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_CODEGEN_PASSES_TD
#define TP_CODEGEN_PASSES_TD

include "mlir/Pass/PassBase.td"

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

def FormAttention : Pass<"tp-form-attention", "::mlir::ModuleOp"> {
  let summary = "Find attention and rewrite it into steps";
  let description = [{
    Finds softmax(scale * q k^T + bias) v whose scores have no other use. The pass
    compares the scalar expressions of elements, so reshapes, transposes,
    broadcasts, casts and fusions of the program do not matter. An attention
    becomes steps, one for each query block: a contraction, a masked softmax and a
    contraction, over the keys that these queries attend to. A mask that is known
    at compile time becomes bounds on the key's index minus the query's; any other
    mask becomes a tensor that is added. Operands of f16 and bf16 are multiplied
    as they are, and the products are added in f32.

    The attribute `tp.attention` on an op names its attention, its first query and
    key, and what the whole attention computes. tp-form-program makes one
    `tp.attention` of the steps, if their operands lie in memory as a library wants
    them. The CPU needs no steps without a library: there is one. For `target=cuda`
    `score-bytes` limits the bytes of the scores of one step; there are at most 64
    query blocks.

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

def FormProgram : Pass<"tp-form-program", "::mlir::ModuleOp"> {
  let summary = "Turn a rank's function on tensors into commands on memory";
  let description = [{
    Decides which values are stored and in what element order, which contractions
    are GEMMs and what their epilogues are, which ops form one kernel, and the
    order of all commands. The function then takes and returns memrefs, and its
    body is allocations and commands (tp/IR/ProgramOps.td). Ops that a kernel
    evaluates are copied into it. Nothing has an offset yet.

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

def UpdateInPlace : Pass<"tp-update-in-place", "::mlir::ModuleOp"> {
  let summary = "Put results into the memory of the arguments that they update";
  let description = [{
    A result that updates an argument (`tp.updates`, kinds `new_X`) is put into
    the argument's memory: its allocation gets `in` with the argument. Then the
    state stays where it is, and no step copies it.

    That is right if no command reads the argument after the result is written. A
    command that does both reads each element before it writes the one in its
    place. Where a command that reads the argument comes later in the program, the
    one that writes the result is moved behind it, with all that depends on it,
    unless the former needs what the latter computes.

    Else the result has memory of its own, and `tp.copied` on it is the reason: it
    is copied to the argument at the end of the step. Two states that are swapped
    need one copy. An argument that no command reads is left alone.

    `target` is `cpu` or `cuda`.

    ```mlir
    func.func @main(%p: memref<6xf32> {tp.name = "p"}, %g: memref<6xf32>) -> (memref<6xf32> {tp.updates = "p"}) {
      %0 = tp.alloc : memref<6xf32>
      tp.kernel reads(%p, %g : memref<6xf32>, memref<6xf32>) writes(%0 : memref<6xf32>) {
      ^bb0(%arg0: memref<6xf32>, %arg1: memref<6xf32>, %arg2: memref<6xf32>):
        %1 = bufferization.to_tensor %arg0 : memref<6xf32> to tensor<6xf32>
        %2 = bufferization.to_tensor %arg1 : memref<6xf32> to tensor<6xf32>
        %3 = tensor.empty() : tensor<6xf32>
        %4 = linalg.sub ins(%1, %2 : tensor<6xf32>, tensor<6xf32>) outs(%3 : tensor<6xf32>) -> tensor<6xf32>
        %5 = tp.compute %4 into %arg2 : tensor<6xf32> into memref<6xf32>
      }
      return %0 : memref<6xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<6xf32> {tp.name = "p"}, %arg1: memref<6xf32>) -> (memref<6xf32> {tp.updates = "p"}) {
        %0 = tp.alloc in %arg0 of memref<6xf32> : memref<6xf32>
        tp.kernel reads(%arg0, %arg1 : memref<6xf32>, memref<6xf32>) writes(%0 : memref<6xf32>) {
        ^bb0(%arg2: memref<6xf32>, %arg3: memref<6xf32>, %arg4: memref<6xf32>):
          %1 = bufferization.to_tensor %arg2 : memref<6xf32> to tensor<6xf32>
          %2 = bufferization.to_tensor %arg3 : memref<6xf32> to tensor<6xf32>
          %3 = tensor.empty() : tensor<6xf32>
          %4 = linalg.sub ins(%1, %2 : tensor<6xf32>, tensor<6xf32>) outs(%3 : tensor<6xf32>) -> tensor<6xf32>
          %5 = tp.compute %4 into %arg4 : tensor<6xf32> into memref<6xf32>
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

def WriteParts : Pass<"tp-write-parts", "::mlir::ModuleOp"> {
  let summary = "Compute only the elements of a state that a step changes";
  let description = [{
    A result in the memory of the argument that it updates has the argument's
    elements there already. Where all others are in a box whose size is known, the
    compute loop runs over the box alone, wherever it is: a step writes as many
    bytes of a cache as it adds, however long the cache is.

    That is a `tensor.insert_slice` into the argument, at a place that may be known
    at run time only, and a select between new elements and the argument's where an
    index equals a scalar, as exporters write a static cache. On a rank with a
    shard of the cache, the place may be in another shard: then it writes nothing.

    The compute loop gets a kernel of its own. What its kernel computes for it from
    other elements is computed again, unless it is a reduction; then, and where the
    rest of the kernel reads the argument as well as the result, the loop stays. It
    stays with a `cf.assert` in a body too, which has to run for all elements.

    For `target=cuda` nothing changes: there kernels write whole results.

    ```mlir
    func.func @main(%new: memref<2xf32>, %at: memref<i64>, %cache: memref<2x8xf32> {tp.name = "cache"}) -> (memref<2x8xf32> {tp.updates = "cache"}) {
      %0 = tp.alloc in %cache of memref<2x8xf32> : memref<2x8xf32>
      tp.kernel reads(%new, %at, %cache : memref<2xf32>, memref<i64>, memref<2x8xf32>) writes(%0 : memref<2x8xf32>) {
      ^bb0(%arg0: memref<2xf32>, %arg1: memref<i64>, %arg2: memref<2x8xf32>, %arg3: memref<2x8xf32>):
        %1 = bufferization.to_tensor %arg0 : memref<2xf32> to tensor<2xf32>
        %2 = bufferization.to_tensor %arg1 : memref<i64> to tensor<i64>
        %3 = bufferization.to_tensor %arg2 : memref<2x8xf32> to tensor<2x8xf32>
        %4 = tensor.empty() : tensor<2x8xf32>
        %5 = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d0)>, affine_map<(d0, d1) -> ()>, affine_map<(d0, d1) -> (d0, d1)>, affine_map<(d0, d1) -> (d0, d1)>], iterator_types = ["parallel", "parallel"]}
            ins(%1, %2, %3 : tensor<2xf32>, tensor<i64>, tensor<2x8xf32>) outs(%4 : tensor<2x8xf32>) {
        ^bb1(%n: f32, %p: i64, %old: f32, %o: f32):
          %7 = linalg.index 1 : index
          %8 = arith.index_cast %7 : index to i64
          %9 = arith.cmpi eq, %8, %p : i64
          %10 = arith.select %9, %n, %old : f32
          linalg.yield %10 : f32
        } -> tensor<2x8xf32>
        %6 = tp.compute %5 into %arg3 : tensor<2x8xf32> into memref<2x8xf32>
      }
      return %0 : memref<2x8xf32>
    }
    ```
    becomes
    ```mlir
    #map = affine_map<(d0, d1) -> (d0)>
    #map1 = affine_map<(d0, d1) -> ()>
    #map2 = affine_map<(d0, d1) -> (d0, d1)>
    module {
      func.func @main(%arg0: memref<2xf32>, %arg1: memref<i64>, %arg2: memref<2x8xf32> {tp.name = "cache"}) -> (memref<2x8xf32> {tp.updates = "cache"}) {
        %0 = tp.alloc in %arg2 of memref<2x8xf32> : memref<2x8xf32>
        tp.kernel reads(%arg0, %arg1, %arg2 : memref<2xf32>, memref<i64>, memref<2x8xf32>) writes(%0 : memref<2x8xf32>) {
        ^bb0(%arg3: memref<2xf32>, %arg4: memref<i64>, %arg5: memref<2x8xf32>, %arg6: memref<2x8xf32>):
          %1 = bufferization.to_tensor %arg3 : memref<2xf32> to tensor<2xf32>
          %2 = bufferization.to_tensor %arg4 : memref<i64> to tensor<i64>
          %3 = bufferization.to_tensor %arg5 : memref<2x8xf32> to tensor<2x8xf32>
          %4 = tensor.empty() : tensor<2x8xf32>
          %5 = linalg.generic {indexing_maps = [#map, #map1, #map2, #map2], iterator_types = ["parallel", "parallel"]} ins(%1, %2, %3 : tensor<2xf32>, tensor<i64>, tensor<2x8xf32>) outs(%4 : tensor<2x8xf32>) {
          ^bb0(%in: f32, %in_0: i64, %in_1: f32, %out: f32):
            %8 = linalg.index 1 : index
            %9 = arith.index_cast %8 : index to i64
            %10 = arith.cmpi eq, %9, %in_0 : i64
            %11 = arith.select %10, %in, %in_1 : f32
            linalg.yield %11 : f32
          } -> tensor<2x8xf32>
          %extracted = tensor.extract %2[] : tensor<i64>
          %6 = arith.index_cast %extracted : i64 to index
          %7 = tp.compute %5 into %arg6 from %6 sizes [1] along [1] : tensor<2x8xf32> into memref<2x8xf32>
        }
        return %0 : memref<2x8xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
  let dependentDialects = ["::mlir::arith::ArithDialect",
                           "::mlir::tensor::TensorDialect"];
}

def PlanMemory : Pass<"tp-plan-memory", "::mlir::ModuleOp"> {
  let summary = "Give every allocation and constant of a program an offset";
  let description = [{
    Allocations that no command needs at the same time share memory. A value may
    also take over the memory of an operand that its command reads last, if every
    element is read before the one in its place is written. Offsets are multiples
    of 64 bytes for the CPU and of 256 for `target=cuda`. Results and arguments
    have memory of their own.

    Offsets that a program has already are kept if all allocations have one; an
    error tells which two overlap while both are needed.

    ```mlir
    func.func @main(%x: memref<4x4xf32>) -> memref<4x4xf32> {
      %0 = tp.alloc : memref<4x4xf32>
      tp.gemm %x, %x into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
      %1 = tp.alloc : memref<4x4xf32>
      tp.kernel reads(%0 : memref<4x4xf32>) writes(%1 : memref<4x4xf32>) {
      ^bb0(%arg0: memref<4x4xf32>, %arg1: memref<4x4xf32>):
        %3 = bufferization.to_tensor %arg0 : memref<4x4xf32> to tensor<4x4xf32>
        %4 = tensor.empty() : tensor<4x4xf32>
        %5 = linalg.exp ins(%3 : tensor<4x4xf32>) outs(%4 : tensor<4x4xf32>) -> tensor<4x4xf32>
        %6 = tp.compute %5 into %arg1 : tensor<4x4xf32> into memref<4x4xf32>
      }
      %2 = tp.alloc : memref<4x4xf32>
      tp.gemm %1, %x into %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
      return %2 : memref<4x4xf32>
    }
    ```
    becomes
    ```mlir
    module {
      func.func @main(%arg0: memref<4x4xf32>) -> memref<4x4xf32> {
        %0 = tp.alloc at 0 : memref<4x4xf32>
        tp.gemm %arg0, %arg0 into %0 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
        %1 = tp.alloc at 0 : memref<4x4xf32>
        tp.kernel reads(%0 : memref<4x4xf32>) writes(%1 : memref<4x4xf32>) {
        ^bb0(%arg1: memref<4x4xf32>, %arg2: memref<4x4xf32>):
          %3 = bufferization.to_tensor %arg1 : memref<4x4xf32> to tensor<4x4xf32>
          %4 = tensor.empty() : tensor<4x4xf32>
          %5 = linalg.exp ins(%3 : tensor<4x4xf32>) outs(%4 : tensor<4x4xf32>) -> tensor<4x4xf32>
          %6 = tp.compute %5 into %arg2 : tensor<4x4xf32> into memref<4x4xf32>
        }
        %2 = tp.alloc : memref<4x4xf32>
        tp.gemm %1, %arg0 into %2 : memref<4x4xf32>, memref<4x4xf32>, memref<4x4xf32>
        return %2 : memref<4x4xf32>
      }
    }
    ```
  }];
  let options = [
    Option<"target", "target", "std::string", "\"cpu\"", "'cpu' or 'cuda'">,
  ];
}

#endif // TP_CODEGEN_PASSES_TD
