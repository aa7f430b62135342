//===- Passes.td - passes of Simulate -----------------*- tablegen -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_SIMULATE_PASSES_TD
#define TP_SIMULATE_PASSES_TD

include "mlir/Pass/PassBase.td"

def SimulatePass : Pass<"tp-simulate", "::mlir::ModuleOp"> {
  let summary = "Runs a program on all ranks at once and checks every value";
  let description = [{
    Without `reference` the types of the program have layouts. The simulator runs
    every op on random global values and on every rank's part of them. The first
    local value that differs from its part of the global value is an error.

    With `reference` the program is partitioned, and the reference is the program
    before tp-partition. The simulator compares the values that `tp.values` names
    with those of the reference.

    The pass does not change the program.

    In this program a rank computes rows, and the types have columns:

    ```mlir
    #mesh = #tp.mesh<"tp" = 4>
    #r = #tp.layout<#mesh, [replicate]>
    #s1 = #tp.layout<#mesh, [shard<1>]>
    func.func @main(%x: tensor<8x10xf32, #r>, %w: tensor<10x12xf32, #s1>, %init: tensor<8x12xf32, #s1>) -> tensor<8x12xf32, #s1> {
      %y = linalg.matmul {tp.strategy = #tp.strategy<#mesh, [split<0>]>}
          ins(%x, %w : tensor<8x10xf32, #r>, tensor<10x12xf32, #s1>) outs(%init : tensor<8x12xf32, #s1>) -> tensor<8x12xf32, #s1>
      return %y : tensor<8x12xf32, #s1>
    }
    ```
    is refused:
    ```text
    error: 'linalg.matmul' op rank 0 computes [0, 2) of dimension 0 of result 0, its layout holds [0, 8)
    ```
  }];
  // The reference is parsed while the pass runs.
  let dependentDialects = [
    "::tp::TPDialect", "::mlir::func::FuncDialect",
    "::mlir::linalg::LinalgDialect", "::mlir::tensor::TensorDialect",
    "::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
    "::mlir::cf::ControlFlowDialect",
  ];
  let options = [
    Option<"seed", "seed", "uint64_t", "1", "chooses the random inputs">,
    Option<"reference", "reference", "std::string", "\"\"",
           "the program before tp-partition, a file">,
    Option<"report", "report", "bool", "false",
           "print to stderr what was covered">,
  ];
}

def InterpretPass : Pass<"tp-interpret", "::mlir::ModuleOp"> {
  let summary = "Runs the function @main on arrays in files";
  let description = [{
    Tests the interpreter of the simulator. Argument i is read from
    `DIR/argI.bin`: the elements in row-major order, little-endian, i1 as one
    byte. Result i is written to `DIR/resultI.bin`.

    ```mlir
    // tp-opt --tp-interpret=directory=arrays
    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      return %x : tensor<2x3xf32>
    }
    ```
    without that folder is refused:
    ```text
    error: 'func.func' op cannot read 'arrays/arg0.bin': No such file or directory
    ```
  }];
  let options = [
    Option<"directory", "directory", "std::string", "\"\"",
           "where the arrays are">,
  ];
}

#endif // TP_SIMULATE_PASSES_TD
