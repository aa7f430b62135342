// RUN: tp-opt %s --tp-print-sharding-rules --verify-diagnostics -o /dev/null

func.func @custom(%x: tensor<4x5x29xf32>, %w: tensor<29x6xf32>, %s: tensor<f32>) {
  // expected-remark@+1 {{f0=4, f1=5, f2=29 sum, f3=6: (f0, f1, f2) (f2, f3) -> (f0, f1, f3)}}
  %0 = tp.custom "my.mix"(%x, %w) {reduction = ["k"], rule = "b i k, k j -> b i j"} : (tensor<4x5x29xf32>, tensor<29x6xf32>) -> tensor<4x5x6xf32>
  // A name that nothing reduces, and '_', are no factors.
  // expected-remark@+1 {{f0=4: (f0, -, -) -> (f0, -)}}
  %1 = tp.custom "my.top"(%x) {rule = "b _ k -> b _"} : (tensor<4x5x29xf32>) -> tensor<4x7xf32>
  // Nor is one that only one result has, or that no operand has.
  // expected-remark@+1 {{f0=29, f1=6: () (f0, f1) -> (f0, f1) (f0, f1, -)}}
  %2:2 = tp.custom "my.more"(%s, %w) {rule = ", a b -> a b, a b c"} : (tensor<f32>, tensor<29x6xf32>) -> (tensor<29x6xf32>, tensor<29x6x2xf32>)
  // expected-remark@+1 {{f0=29, f1=6 max: (f0, f1) -> (f0)}}
  %3 = tp.custom "my.most"(%w) {combine = "max", reduction = ["b"], rule = "a b -> a"} : (tensor<29x6xf32>) -> tensor<29xf32>
  return
}
