// Two convolutions with a pooling between them and a softmax at the end, as a pair of
// column- and row-parallel layers over channels, and over the batch, on 2, 3
// and 4 ranks as on 1; 3 divide neither channels nor classes.
//
// DEFINE: %{run} = tp-run --poison --input=x=@%t.x.npy --input=w1=@%t.w1.npy --input=w2=@%t.w2.npy --input=w3=@%t.w3.npy
// RUN: %python %S/Inputs/write_npy.py %t.x.npy=4,6,39,27 %t.w1.npy=64,6,3,2 %t.w2.npy=64,3,3 %t.w3.npy=20,64,2,2
// RUN: tp-compile %s -o %t.1.tp
// RUN: %{run} %t.1.tp --ranks=1 --output=y=@%t.y.npy --output=p=@%t.p.npy
// RUN: tp-compile %s --plan=%S/Inputs/convolutions-channels.plan.mlir --mesh=tp=2 -o %t.2.tp --report=%t.2.txt --verify
// RUN: %{run} %t.2.tp --ranks=2 --expected-output=y=@%t.y.npy --expected-output=p=@%t.p.npy
// RUN: FileCheck %s --input-file=%t.2.txt
// RUN: tp-compile %s --plan=%S/Inputs/convolutions-channels.plan.mlir --mesh=tp=4 -o %t.4.tp --verify
// RUN: %{run} %t.4.tp --ranks=4 --expected-output=y=@%t.y.npy --expected-output=p=@%t.p.npy
// RUN: tp-compile %s --plan=%S/Inputs/convolutions-channels.plan.mlir --mesh=tp=3 -o %t.3.tp --verify
// RUN: %{run} %t.3.tp --ranks=3 --expected-output=y=@%t.y.npy --expected-output=p=@%t.p.npy
// RUN: tp-compile %s --plan=%S/Inputs/convolutions-batch.plan.mlir --mesh=tp=4 -o %t.b.tp --report=%t.b.txt --verify
// RUN: %{run} %t.b.tp --ranks=4 --expected-output=y=@%t.y.npy --expected-output=p=@%t.p.npy
// RUN: FileCheck %s --input-file=%t.b.txt --check-prefix=BATCH

// The second convolution's sums, then maximum and sum of the softmax over sharded
// channels; neither window nor image is communicated.
// CHECK:      collectives by kind
// CHECK-NEXT: kind
// CHECK-NEXT: reduce_scatter  1  12800
// CHECK-NEXT: all_reduce      2  1280
// CHECK-EMPTY:

// BATCH:      collectives by kind
// BATCH-NEXT: kind
// BATCH-EMPTY:

#id = affine_map<(n, c, h, w) -> (n, c, h, w)>

func.func @main(%x: tensor<4x6x39x27xf32> {tp.name = "x"}, %w1: tensor<64x6x3x2xf32> {tp.name = "w1"}, %w2: tensor<64x3x3xf32> {tp.name = "w2"}, %w3: tensor<20x64x2x2xf32> {tp.name = "w3"})
    -> (tensor<4x20x8x5xf32> {tp.name = "y"}, tensor<4x20x8x5xf32> {tp.name = "p"}) {
  %zero = arith.constant 0.0 : f32
  %least = arith.constant 0xFF800000 : f32
  %e0 = tensor.empty() : tensor<4x64x37x26xf32>
  %i0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<4x64x37x26xf32>) -> tensor<4x64x37x26xf32>
  %c0 = linalg.conv_2d_nchw_fchw ins(%x, %w1 : tensor<4x6x39x27xf32>, tensor<64x6x3x2xf32>) outs(%i0 : tensor<4x64x37x26xf32>) -> tensor<4x64x37x26xf32>
  %relu = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%c0 : tensor<4x64x37x26xf32>) outs(%e0 : tensor<4x64x37x26xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.maximumf %a, %zero : f32
    linalg.yield %m : f32
  } -> tensor<4x64x37x26xf32>
  %e1 = tensor.empty() : tensor<4x64x35x24xf32>
  %i1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x64x35x24xf32>) -> tensor<4x64x35x24xf32>
  %c1 = linalg.depthwise_conv_2d_nchw_chw ins(%relu, %w2 : tensor<4x64x37x26xf32>, tensor<64x3x3xf32>) outs(%i1 : tensor<4x64x35x24xf32>) -> tensor<4x64x35x24xf32>
  %window = tensor.empty() : tensor<3x4xf32>
  %e2 = tensor.empty() : tensor<4x64x17x11xf32>
  %i2 = linalg.fill ins(%least : f32) outs(%e2 : tensor<4x64x17x11xf32>) -> tensor<4x64x17x11xf32>
  %pool = linalg.pooling_nchw_max {strides = dense<2> : tensor<2xi64>} ins(%c1, %window : tensor<4x64x35x24xf32>, tensor<3x4xf32>) outs(%i2 : tensor<4x64x17x11xf32>) -> tensor<4x64x17x11xf32>
  %e3 = tensor.empty() : tensor<4x20x8x5xf32>
  %i3 = linalg.fill ins(%zero : f32) outs(%e3 : tensor<4x20x8x5xf32>) -> tensor<4x20x8x5xf32>
  %y = linalg.conv_2d_nchw_fchw {strides = dense<2> : tensor<2xi64>} ins(%pool, %w3 : tensor<4x64x17x11xf32>, tensor<20x64x2x2xf32>) outs(%i3 : tensor<4x20x8x5xf32>) -> tensor<4x20x8x5xf32>
  %p = linalg.softmax dimension(1) ins(%y : tensor<4x20x8x5xf32>) outs(%e3 : tensor<4x20x8x5xf32>) -> tensor<4x20x8x5xf32>
  return %y, %p : tensor<4x20x8x5xf32>, tensor<4x20x8x5xf32>
}
