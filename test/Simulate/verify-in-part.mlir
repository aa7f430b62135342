// An assertion that random numbers break says nothing about layouts: what comes before
// it is verified, and the program compiles.
// RUN: tp-compile %s --plan=auto --mesh=tp=2 --verify -o %t.tp 2>&1 | FileCheck %s
// CHECK: verify-in-part.mlir:[[@LINE+11]]:{{[0-9]+}}: remark: not verified: {{.*}}finds the assertion broken: expected a large number
// CHECK: remark: not all is verified: {{[1-9][0-9]*}} values agree on 2 ranks before that op

// RUN: tp-run --info %t.tp | FileCheck %s --check-prefix=INFO
// INFO: y
func.func @main(%x: tensor<8xi32> {tp.name = "x", tp.kind = "user_input"}) -> (tensor<8xi32> {tp.name = "y"}) {
  %first = arith.addi %x, %x : tensor<8xi32>
  %c0 = arith.constant 0 : index
  %least = arith.constant 1000000 : i32
  %one = tensor.extract %first[%c0] : tensor<8xi32>
  %large = arith.cmpi sgt, %one, %least : i32
  cf.assert %large, "expected a large number"
  return %first : tensor<8xi32>
}
