// RUN: %python %S/../EndToEnd/Inputs/write_npy.py %t.x.npy=4,4
// RUN: sed 's/#tp.mesh<"tp" = 4>/#tp.mesh<"tp" = 1>/' %s > %t.one.mlir
// RUN: tp-compile %t.one.mlir -o %t.one.tp --verify
// RUN: tp-run %t.one.tp --ranks=1 --input=x=@%t.x.npy --input=x2=@%t.x.npy --output=moved=@%t.moved.npy --output=sum=@%t.sum.npy
// RUN: tp-compile %s -o %t.tp --verify
// RUN: tp-run %t.tp --ranks=4 --poison --input=x=@%t.x.npy --input=x2=@%t.x.npy --expected-output=moved=@%t.moved.npy --expected-output=sum=@%t.sum.npy | FileCheck %s

// A scalar is read from a tensor while a kernel is being written that passes
// values on: it forgot what it passes on, and looked for it in memory, where it
// is not.
// CHECK-COUNT-2: equal

#mesh = #tp.mesh<"tp" = 4>
module attributes {tp.mesh = #mesh} {
  func.func @main(%x: tensor<4x4xf32> {tp.name = "x", tp.kind = "user_input", tp.pin = {tp = #tp.placement<shard<0, segments = [1, 2, 1]>>}},
                  %x2: tensor<4x4xf32> {tp.name = "x2", tp.kind = "user_input", tp.pin = {tp = #tp.placement<replicate>}}) -> (tensor<4x4xf32> {tp.name = "moved"}, tensor<4x4xf32> {tp.name = "sum"}) {
    %c0 = arith.constant 0 : index
    %zero = arith.constant 0.0 : f32
    %at = tensor.extract %x2[%c0, %c0] : tensor<4x4xf32>
    %is = arith.cmpf olt, %at, %zero : f32
    %y = scf.if %is -> tensor<4x4xf32> {
      scf.yield %x : tensor<4x4xf32>
    } else {
      %same = tensor.insert_slice %x into %x[0, 0] [4, 4] [1, 1] : tensor<4x4xf32> into tensor<4x4xf32>
      scf.yield %same : tensor<4x4xf32>
    }
    %sum = arith.addf %y, %x : tensor<4x4xf32>
    %back = arith.subf %sum, %y : tensor<4x4xf32>
    %rows = arith.constant dense<[[3], [0], [1], [2]]> : tensor<4x1xindex>
    %slices = tensor.expand_shape %back [[0, 1], [2]] output_shape [4, 1, 4] : tensor<4x4xf32> into tensor<4x1x4xf32>
    %moved = tensor.scatter %slices into %back[%rows] scatter_dims([0]) unique : (tensor<4x1x4xf32>, tensor<4x4xf32>, tensor<4x1xindex>) -> tensor<4x4xf32>
    return %moved, %sum : tensor<4x4xf32>, tensor<4x4xf32>
  }
}
