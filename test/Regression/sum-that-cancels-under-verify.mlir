// RUN: tp-compile %s --verify -o %t.tp 2>&1 | count 1
// RUN: %python -c "import struct, sys; sys.path.append('%S/..'); import npy; npy.write(sys.argv[1], '<i8', [12, 1], struct.pack('12q', *[k % 8 for k in range(12)]))" %t.at.npy
// RUN: tp-run %t.tp --input=at=@%t.at.npy --output=sum=@%t.sum.npy
// RUN: %python -c "import struct, sys; sys.path.append('%S/..'); import npy; sum, = struct.unpack('f', npy.read(sys.argv[1])); assert abs(sum) < 1e-6, sum" %t.sum.npy

// Twelve numbers and -1 add up to what rounding leaves of 0. On two ranks the
// order is another, and so is what it leaves: the scale to compare by is that of
// the ranks' partial sums.

#mesh = #tp.mesh<"tp" = 2>
module attributes {tp.mesh = #mesh} {
  func.func @main(%at: tensor<12x1xindex> {tp.name = "at", tp.kind = "user_input", tp.pin = {tp = #tp.placement<shard<0>>}}) -> (tensor<f32> {tp.name = "sum"}) {
    %table = arith.constant dense<0.0833333358> : tensor<8xf32>
    %rows = tensor.gather %table[%at] gather_dims([0]) : (tensor<8xf32>, tensor<12x1xindex>) -> tensor<12x1xf32>
    %init = arith.constant dense<-1.0> : tensor<f32>
    %sum = linalg.reduce ins(%rows : tensor<12x1xf32>) outs(%init : tensor<f32>) dimensions = [0, 1]
    (%i: f32, %o: f32) {
      %s = arith.addf %i, %o : f32
      linalg.yield %s : f32
    }
    return %sum : tensor<f32>
  }
}
