//===- ProgramOps.td - the ops of a rank's program ---------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A rank's program is a function on memrefs: allocations, constants, and
// commands in the order in which they run. A command is a `tp.kernel`, a
// `tp.gemm`, a `tp.communicate` or a `tp.attention`; `tp.launch` is a kernel
// whose code has been emitted.
//
// The layout of a memref is the order of its elements in memory: a map from an
// index to the place of the element, counted in elements. The results of the
// function are allocations that it returns, each once, whole and row-major.
// Commands write allocations alone, and read what was written. docs/program.md
// has all rules; lib/Codegen/Program/VerifyProgram.cpp checks them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_IR_PROGRAMOPS_TD
#define TP_IR_PROGRAMOPS_TD

include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "tp/IR/TPAxes.td"

class TP_ProgramOp<string mnemonic, list<Trait> traits = []>
    : Op<TP_Dialect, mnemonic, traits>;

/// Reads and writes buffers that are operands.
class TP_CommandOp<string mnemonic, list<Trait> traits = []>
    : TP_ProgramOp<mnemonic, !listconcat(traits, [
        DeclareOpInterfaceMethods<MemoryEffectsOpInterface>])> {
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

def TP_AllocOp : TP_ProgramOp<"alloc", [
    DeclareOpInterfaceMethods<MemoryEffectsOpInterface>]> {
  let summary = "Memory of a stored value";
  let description = [{
    A value in the arena, or, if the function returns it, in the memory of a
    result, which has no offset. `tp-plan-memory` sets `offset`: bytes from the
    start of the arena, a multiple of the target's alignment (64 on a processor,
    256 on a device). A buffer is needed from the first command that uses it to
    the last. Two that are never needed at one command may overlap. Where the last
    command of one is the first of the other, they may have the same offset if the
    command reads each element of the one before it writes the other's in its
    place.

    A result that updates an argument may be in the argument's memory
    (`tp-update-in-place`). No command reads the argument after one that writes
    the result, once `tp-schedule` has put commands into their order; one that does
    both reads each element before it writes the one in its place. What no command writes keeps the argument's elements.

    ```mlir
    %0 = tp.alloc : memref<4x8xf32>
    %1 = tp.alloc at 128 : memref<4x8xf32, strided<[1, 4]>>
    %2 = tp.alloc in %state of memref<4x8xf32> : memref<32xf32>
    ```
  }];
  let arguments = (ins Optional<AnyStaticShapeMemRef>:$memory,
                       OptionalAttr<I64Attr>:$offset);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = [{
    (`at` $offset^)? (`in` $memory^ `of` type($memory))? attr-dict `:`
    type($result)
  }];
  let hasVerifier = 1;
}

def TP_ConstantOp : TP_ProgramOp<"constant", [Pure]> {
  let summary = "Elements that are known at compile time";
  let description = [{
    The artifact holds them row-major. `tp-plan-memory` sets `offset`: bytes from
    the start of the artifact's constants; a constant without readers has none.

    ```mlir
    %0 = tp.constant dense<[1.0, 2.0]> : tensor<2xf32> to memref<2xf32>
    ```
  }];
  let arguments = (ins ElementsAttr:$value, OptionalAttr<I64Attr>:$offset);
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "$value (`at` $offset^)? attr-dict `to` type($result)";
  let hasVerifier = 1;
}

def TP_ResumeOp : TP_ProgramOp<"resume"> {
  let summary = "From here on values are computed again";
  let description = [{
    What later kernels compute of these buffers is computed here, in the backward
    pass: they join no kernel before this op. tp-form-kernels removes it.

    ```mlir
    tp.resume %0 : memref<4x8xf32>
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeMemRef>:$buffers);
  let assemblyFormat = "$buffers attr-dict `:` type($buffers)";
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def TP_KernelOp : TP_CommandOp<"kernel", [
    AttrSizedOperandSegments, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "One launch of generated code";
  let description = [{
    The block has one argument per buffer: those it reads, then those it writes.
    `bufferization.to_tensor` makes a tensor of a buffer that is read. What the
    kernel computes is written by `tp.compute`, in order: exactly one writes each
    buffer of `writes`, which nothing reads and which overlaps no other buffer of
    the kernel. All other ops are on tensors and scalars; they are evaluated
    element by element where a `tp.compute` needs them, and have no memory.

    ```mlir
    tp.kernel reads(%x : memref<4x8xf32>) writes(%y : memref<4x8xf32>) {
    ^bb0(%arg0: memref<4x8xf32>, %arg1: memref<4x8xf32>):
      %0 = bufferization.to_tensor %arg0 : memref<4x8xf32> to tensor<4x8xf32>
      %1 = tensor.empty() : tensor<4x8xf32>
      %2 = linalg.exp ins(%0 : tensor<4x8xf32>) outs(%1 : tensor<4x8xf32>) -> tensor<4x8xf32>
      %3 = tp.compute %2 into %arg1 : tensor<4x8xf32> into memref<4x8xf32>
    }
    ```
  }];
  let arguments = (ins Variadic<AnyStaticShapeMemRef>:$reads,
                       Variadic<AnyStaticShapeMemRef>:$writes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    (`reads` `(` $reads^ `:` type($reads) `)`)?
    (`writes` `(` $writes^ `:` type($writes) `)`)? $body attr-dict
  }];
}

def TP_ScratchOp : TP_ProgramOp<"scratch", [HasParent<"KernelOp">]> {
  let summary = "Memory of a value that one row of a kernel computes and reads";
  let description = [{
    Every row has its own: a kernel keeps the elements of one row only, in
    registers where they fit.

    ```mlir
    %0 = tp.scratch : memref<4x8xf32>
    ```
  }];
  let results = (outs AnyStaticShapeMemRef:$result);
  let assemblyFormat = "attr-dict `:` type($result)";
}

def TP_ComputeOp : TP_ProgramOp<"compute", [
    HasParent<"KernelOp">, AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<InferTypeOpInterface>]> {
  let summary = "One compute loop of a kernel";
  let description = [{
    Computes all elements of `values` and writes them into `buffers`. The values
    are one tensor, or results of one linalg op with reduction loops. A result is
    the value as it is stored: ops that use it load it; ops that use the operand
    evaluate it again. A buffer is one that the kernel writes, or a `tp.scratch`.
    Without buffers a result is held in registers: only compute loops with the
    same loops inside the rows may read it, and no reduction is held.

    A kernel runs its row loops outside, and inside each row one loop nest after
    the other; compute loops with equal loops share a nest. `rows` has, for each
    row loop of the kernel, the number of the compute loop's own loop that runs
    along it. Loops are numbered by the tensor's dimensions, or by the linalg op's
    loops, after those that addresses cut: a dimension of 12 that is read through a
    reshape to 3x4 is the loops of 3 and of 4. What one compute loop reads of
    another has to be of its own row.

    ```mlir
    %3 = tp.compute %2 rows [0] into %y : tensor<4x8xf32> into memref<4x8xf32>
    %4 = tp.compute %2 rows [0] : tensor<4x8xf32>
    ```

    With `from` only a part is computed: along dimension `along[i]` of the value,
    `sizes[i]` indices from `starts[i]` on, those of them that the dimension has.
    The other elements of the buffer stay. That is for a result in the memory of
    the argument that it updates, which has the same elements there
    (`tp-write-parts`); the compute loop is the only one of its kernel.

    ```mlir
    %5 = tp.compute %2 into %y from %position sizes [1] along [0] : tensor<4x8xf32> into memref<4x8xf32>
    ```

    With `scatter` a reduction does not visit all iterations. The loop
    `scattered[i]` of the linalg op is a parallel one, and of its iterations only
    the one with the number `places[i]` changes the accumulators, or none where
    the loop has no such iteration. `places[i]` has a dimension for every loop of
    the op, of one element where the place does not depend on the loop. The
    elements start with their inits as ever (`tp-form-scatters`); the compute loop
    is the only one of its kernel.

    ```mlir
    %7 = tp.compute %6 into %y scatter [0] at %place : tensor<9x8xf32> into memref<9x8xf32> at tensor<1x1x4xi64>
    ```

    With `where` only elements are computed where the condition is true; others of
    the buffer have any value afterwards. The condition has a dimension for each of
    the value's, of one element where it does not depend on that. The compute loop
    is the only one of its kernel and does not reduce (`tp-skip-rows`).

    ```mlir
    %8 = tp.compute %6 into %y where %chosen : tensor<9x8xf32> into memref<9x8xf32> where tensor<9x1xi1>
    ```
  }];
  let arguments = (ins Variadic<AnyRankedTensor>:$values,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$rows,
                       Variadic<AnyStaticShapeMemRef>:$buffers,
                       Variadic<Index>:$starts,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$sizes,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$along,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$scattered,
                       Variadic<RankedTensorOf<[I64]>>:$places,
                       Optional<RankedTensorOf<[I1]>>:$condition);
  let results = (outs Variadic<AnyRankedTensor>:$results);
  let builders = [
    OpBuilder<(ins "::mlir::ValueRange":$values,
                   "::llvm::ArrayRef<int64_t>":$rows,
                   "::mlir::ValueRange":$buffers)>
  ];
  let extraClassDeclaration = [{
    /// How many elements of each buffer it writes at most.
    int64_t getWrittenElements();
  }];
  let assemblyFormat = [{
    $values (`rows` $rows^)? (`into` $buffers^)?
    (`from` $starts^ `sizes` $sizes `along` $along)?
    (`scatter` $scattered^ `at` $places)? (`where` $condition^)?
    attr-dict `:` type($values) (`into` type($buffers)^)?
    (`at` type($places)^)? (`where` type($condition)^)?
  }];
  let hasVerifier = 1;
}

def TP_LaunchOp : TP_CommandOp<"launch"> {
  let summary = "Runs the code of a kernel";
  let description = [{
    Emission leaves it in place of a `tp.kernel`; no program has it as input.
    `function` is the symbol of the code. Its parameters are the buffers: buffers
    that share memory are one parameter. `written` tells for every buffer
    whether the kernel writes it, `read` whether it reads it. On devices `grid`
    and `block` are the launch's, `shared` the bytes of shared memory of a
    block, `scratch` the bytes of global memory that a launch needs beside its
    buffers, `flops` and `bytes` what it computes and moves at least. With `checks`
    an assertion of it may fail.

    ```mlir
    tp.launch @tp_kernel_0(%x, %y : memref<6xf32>, memref<6xf32>) read [true, false] written [false, true]
    ```
  }];
  let arguments = (ins FlatSymbolRefAttr:$function,
                       Variadic<AnyStaticShapeMemRef>:$buffers,
                       DenseBoolArrayAttr:$read, DenseBoolArrayAttr:$written,
                       OptionalAttr<DenseI64ArrayAttr>:$grid,
                       OptionalAttr<DenseI64ArrayAttr>:$block,
                       DefaultValuedAttr<I64Attr, "0">:$shared,
                       DefaultValuedAttr<I64Attr, "0">:$scratch,
                       DefaultValuedAttr<I64Attr, "0">:$flops,
                       DefaultValuedAttr<I64Attr, "0">:$bytes,
                       UnitAttr:$checks);
  let assemblyFormat = [{
    $function `(` $buffers `:` type($buffers) `)` `read` $read `written` $written attr-dict
  }];
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

def TP_GemmOp : TP_CommandOp<"gemm", [AttrSizedOperandSegments]> {
  let summary = "Matrix products by a library";
  let description = [{
    c = alpha * a b + beta * c, or with `plus`, `bias` or `gelu`
    c = act(alpha * a b + residual + bias), for every index of the leading batch
    dimensions. The shapes are batch x m x k, batch x k x n and batch x m x n;
    the residual's is c's, the bias has n elements. Layouts are strided: rows or
    columns of a and b are contiguous, rows of c and of the residual. a and b have
    one element type, c and what is added have one. On processors alone one of a
    and b may have f32 and the other f16 or bf16, which is widened. c may be the
    residual, and overlaps nothing else. `act` is the tanh form of GELU with
    `gelu`, else the identity. `plus`, `bias` and `gelu` are for devices alone.

    With `rows`, i1 of batch x m, only rows of c with true are computed; the others
    have any value afterwards. It excludes beta and what is added, and is for
    processors alone.

    With `terms`, i1 of batch x k, only columns of a and rows of b with true are
    read and multiplied. It excludes `rows`, and is for processors alone.

    With `lookup`, i64 of batch, b is a table of matrices, count x k x n, and the
    product at an index of batch takes the one whose number the places have there:
    the nearest one where there is none of that number. For processors alone.

    Products are added in f32, or f64 for f64. With `k_of_rank` rank r multiplies
    the first `k_of_rank[r]` columns of a and rows of b.

    ```mlir
    tp.gemm %a, %b into %c : memref<4x8xf32>, memref<8x6xf32>, memref<4x6xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeMemRef:$a, AnyStaticShapeMemRef:$b,
                       AnyStaticShapeMemRef:$c,
                       Optional<AnyStaticShapeMemRef>:$residual,
                       Optional<AnyStaticShapeMemRef>:$bias,
                       Optional<AnyStaticShapeMemRef>:$rows,
                       Optional<AnyStaticShapeMemRef>:$terms,
                       Optional<AnyStaticShapeMemRef>:$places,
                       DefaultValuedAttr<F64Attr, "1.0">:$alpha,
                       DefaultValuedAttr<F64Attr, "0.0">:$beta,
                       OptionalAttr<DenseI64ArrayAttr>:$k_of_rank,
                       UnitAttr:$gelu);
  let assemblyFormat = [{
    $a `,` $b `into` $c (`plus` $residual^)? (`bias` $bias^)? (`gelu` $gelu^)?
    (`rows` $rows^)? (`terms` $terms^)? (`lookup` $places^)? attr-dict
    `:` type($a) `,` type($b) `,` type($c)
    (`plus` type($residual)^)? (`bias` type($bias)^)? (`rows` type($rows)^)?
    (`terms` type($terms)^)? (`lookup` type($places)^)?
  }];
}

def TP_AttentionOp : TP_CommandOp<"attention", [
    AttrSizedOperandSegments, NoTerminator, SingleBlock]> {
  let summary = "Attention by a library, or by its steps";
  let description = [{
    o[i] = sum over j of softmax over j (scale * q[i] . k[j] + bias[i, j]) * v[j],
    for every batch and head; query i sees the keys j with lower <= j - i <= upper.
    The shapes are batch x heads x queries x head size for q, batch x key/value
    heads x keys x head size for k, the same with v's columns for v,
    batch x heads x queries x v's columns for the output, and
    batch x heads x queries x keys for the bias. Layouts are strided; columns are
    contiguous. Where a query sees no key, `empty_rows` tells what the output is:
    "zero", "nan", or nothing if each query sees one.

    With `partial` the keys are one chunk of several: the output has two columns
    more, in f32 or f64, and holds a state that other chunks are added to
    (`tp.attend`). `onto` is the state before this chunk, in the same layout; the
    output may take its place. That is for processors.

    The region holds commands that compute the same, for a device whose library
    does not: they run in order in place of the attention. On the CPU it is empty.
    `flops` and `bytes` are the attention's.

    ```mlir
    tp.attention %q, %k, %v into %o scale 1.250000e-01 flops 64 bytes 128 {
      tp.gemm %q0, %k0 into %s : memref<4x8xf16>, memref<8x6xf16>, memref<4x6xf32>
    } : memref<1x1x4x8xf16>, memref<1x1x6x8xf16>, memref<1x1x6x8xf16>, memref<1x1x4x8xf16>
    ```
  }];
  let arguments = (ins AnyStaticShapeMemRef:$q, AnyStaticShapeMemRef:$k,
                       AnyStaticShapeMemRef:$v, AnyStaticShapeMemRef:$o,
                       Optional<AnyStaticShapeMemRef>:$bias,
                       Optional<AnyStaticShapeMemRef>:$onto, F64Attr:$scale,
                       OptionalAttr<I64Attr>:$lower,
                       OptionalAttr<I64Attr>:$upper,
                       OptionalAttr<StrAttr>:$empty_rows, I64Attr:$flops,
                       I64Attr:$bytes, UnitAttr:$partial);
  let regions = (region SizedRegion<1>:$steps);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`bias` $bias^)? (`onto` $onto^)? `into` $o
    (`partial` $partial^)? `scale` $scale
    (`lower` $lower^)? (`upper` $upper^)? (`empty_rows` $empty_rows^)?
    `flops` $flops `bytes` $bytes $steps attr-dict
    `:` type($q) `,` type($k) `,` type($v) `,` type($o) (`bias` type($bias)^)?
    (`onto` type($onto)^)?
  }];
}

def TP_AttentionBackwardOp : TP_CommandOp<"attention_backward"> {
  let summary = "The gradients of an attention";
  let description = [{
    What `tp.attend_backward` computes, in memory. The shapes are
    batch x heads x queries x head size for q and gq, the same with v's columns
    for go, two columns for lse and one for delta; batch x key/value heads x keys x
    head size for k, the same with v's columns for v; batch x heads x keys x head
    size for gk, the same with v's columns for gv; batch x heads x queries x keys
    for the bias, or x 2 for spans. Layouts are strided; columns are contiguous.
    What is written overlaps nothing else, but gq may take the place of `onto`,
    which is gq of the chunks before, in the same layout. That is for processors.

    ```mlir
    tp.attention_backward %q, %k, %v bias %spans from %go lse %lse delta %delta into %gq, %gk, %gv scale 1.250000e-01 flops 64 bytes 128 : memref<1x1x4x8xf32>, memref<1x1x6x8xf32>, memref<1x1x6x8xf32>, memref<1x1x4x2xi64>, memref<1x1x4x8xf32>, memref<1x1x4x2xf32>, memref<1x1x4x1xf32>, memref<1x1x4x8xf32>, memref<1x1x6x8xf32>, memref<1x1x6x8xf32>
    ```
  }];
  let arguments = (ins AnyStaticShapeMemRef:$q, AnyStaticShapeMemRef:$k,
                       AnyStaticShapeMemRef:$v, AnyStaticShapeMemRef:$bias,
                       AnyStaticShapeMemRef:$go, AnyStaticShapeMemRef:$lse,
                       AnyStaticShapeMemRef:$delta, AnyStaticShapeMemRef:$gq,
                       AnyStaticShapeMemRef:$gk, AnyStaticShapeMemRef:$gv,
                       Optional<AnyStaticShapeMemRef>:$onto,
                       F64Attr:$scale, I64Attr:$flops, I64Attr:$bytes);
  let assemblyFormat = [{
    $q `,` $k `,` $v `bias` $bias `from` $go `lse` $lse `delta` $delta
    (`onto` $onto^)? `into` $gq `,` $gk `,` $gv `scale` $scale `flops` $flops `bytes` $bytes
    attr-dict `:` type($q) `,` type($k) `,` type($v) `,` type($bias) `,`
    type($go) `,` type($lse) `,` type($delta) `,` type($gq) `,` type($gk) `,`
    type($gv) (`onto` type($onto)^)?
  }];
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

def TP_CommunicateOp : TP_CommandOp<"communicate", [
    IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "A collective on buffers";
  let description = [{
    The region holds one collective, which reads the block's argument. Buffers are
    row-major, but for the destination of an all_to_all: it holds the received
    blocks one after the other, each row-major.

    ```mlir
    tp.communicate %x into %y : memref<4x2xf32>, memref<4x8xf32> {
    ^bb0(%0: tensor<4x2xf32>):
      %1 = tp.all_gather %0 dim 1 over <<"tp" = 4>, ["tp"]> : tensor<4x2xf32> -> tensor<4x8xf32>
    }
    ```
  }];
  let arguments = (ins AnyStaticShapeMemRef:$source,
                       AnyStaticShapeMemRef:$destination);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $source `into` $destination `:` type($source) `,` type($destination) $body attr-dict
  }];
  let extraClassDeclaration = [{
    ::mlir::Operation *getCollective() { return &getBody().front().front(); }
  }];
}

#endif // TP_IR_PROGRAMOPS_TD
