// The rows of a state roll up by one. Its readers ask for a cut segment by segment and
// what joins its next value for a cut in other segments; the result that updates it had
// whole chunks, as the plan says, which is another layout: an error.
// RUN: split-file %s %t
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir -o %t/three.tp --verify
// RUN: tp-run %t/three.tp --info | FileCheck %s
// CHECK: state {{.*}}[shard<0, segments = [4, 1]>]
// CHECK: next {{.*}}[shard<0, segments = [4, 1]>]{{.*}} updates state
// DEFINE: %{data} = --repeat=3 --input='state=5x2xf32=[1 2 3 4 5 6 7 8 9 0]'
// RUN: tp-run %t/three.tp %{data} --output=next=@%t/next.npy
// RUN: tp-compile %t/model.mlir -o %t/one.tp
// RUN: tp-run %t/one.tp %{data} --expected-output=next=@%t/next.npy

//--- plan.mlir
tp.plan @plan on <"tp" = 3>["tp"] {
  tp.argument "state" shard<0>
}

//--- model.mlir
func.func @main(%state: tensor<5x2xf32> {tp.name = "state", tp.kind = "buffer"}) -> (tensor<5x2xf32> {tp.name = "next", tp.updates = "state"}) {
  %last = tensor.extract_slice %state[4, 0] [1, 2] [1, 1] : tensor<5x2xf32> to tensor<1x2xf32>
  %first = tensor.extract_slice %state[0, 0] [4, 2] [1, 1] : tensor<5x2xf32> to tensor<4x2xf32>
  %rolled = tensor.concat dim(0) %last, %first : (tensor<1x2xf32>, tensor<4x2xf32>) -> tensor<5x2xf32>
  %next = arith.addf %rolled, %rolled : tensor<5x2xf32>
  return %next : tensor<5x2xf32>
}
