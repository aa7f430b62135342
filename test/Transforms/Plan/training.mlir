// RUN: tp-opt %s --tp-apply-plan | FileCheck %s

// In a training step the backward pass reads values inside of a module, and a buffer's next value
// leaves it. Neither is the module's output: that is what the forward pass reads.

#mesh = #tp.mesh<"tp" = 2>
tp.plan @p on #mesh["tp"] {
  tp.parallelize "norm" with sequence_parallel {sequence_dim = 0}
}
// CHECK: %[[INNER:.*]] = linalg.exp
// CHECK: %[[OUT:.*]] = linalg.negf ins(%[[INNER]]
// CHECK: %[[PINNED:.*]] = tp.constrain %[[OUT]] {{.*}}to shard<0> {{.*}}at "norm" "output"
// CHECK: linalg.tanh ins(%[[PINNED]]
// CHECK-NOT: tp.constrain
func.func @main(%x: tensor<4x6xf32> {tp.name = "x", tp.kind = "user_input"},
                %m: tensor<4x6xf32> {tp.name = "norm.mean", tp.kind = "buffer"})
    -> (tensor<4x6xf32> {tp.name = "loss", tp.kind = "loss"},
        tensor<4x6xf32> {tp.name = "norm.mean", tp.kind = "new_buffer", tp.updates = "norm.mean"},
        tensor<4x6xf32> {tp.name = "w", tp.kind = "user_output"}) {
  %e = tensor.empty() : tensor<4x6xf32>
  %a = linalg.exp ins(%x : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("norm"("exp"))
  %y = linalg.negf ins(%a : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("norm"("neg"))
  %mean = linalg.add ins(%a, %m : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("norm"("add"))
  %l = linalg.tanh ins(%y : tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("<loss>"("tanh"))
  %g = linalg.mul ins(%l, %a : tensor<4x6xf32>, tensor<4x6xf32>) outs(%e : tensor<4x6xf32>) -> tensor<4x6xf32> loc("bwd:norm"("mul"))
  return %l, %mean, %g : tensor<4x6xf32>, tensor<4x6xf32>, tensor<4x6xf32>
}
