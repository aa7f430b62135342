// What the table of ops does not have is refused at the op.
// RUN: tp-opt %s --tp-legalize --split-input-file --verify-diagnostics

func.func @scaled(%x: tensor<4xf8E4M3FN>, %s: tensor<4xf8E8M0FNU>) -> tensor<4xf32> {
  // expected-error@+1 {{'arith.scaling_extf' is not known to this version of tp, expected other ops of linalg, tensor, arith and math}}
  %y = arith.scaling_extf %x, %s : tensor<4xf8E4M3FN>, tensor<4xf8E8M0FNU> to tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

func.func @unsigned_loop(%x: tensor<4xf32>) -> tensor<4xf32> {
  %low = arith.constant 0 : i8
  %high = arith.constant -56 : i8
  %step = arith.constant 100 : i8
  // expected-error@+1 {{'scf.for' with unsigned bounds of 2^(width - 1) or more is not handled, expected smaller ones}}
  %y = scf.for unsigned %i = %low to %high step %step iter_args(%v = %x) -> (tensor<4xf32>) : i8 {
    %w = arith.addf %v, %x : tensor<4xf32>
    scf.yield %w : tensor<4xf32>
  }
  return %y : tensor<4xf32>
}

// -----

// Attributes of exporters are no part of what an op computes.
func.func @discardable(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = arith.addf %x, %x {exporter.rounding = "upward"} : tensor<4xf32>
  return %y : tensor<4xf32>
}
