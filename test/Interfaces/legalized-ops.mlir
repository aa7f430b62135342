// The ops that tp-legalize writes as loop nests, under every strategy.
// RUN: tp-opt %s --tp-legalize --tp-check-sharding-rules=ranks=2 2>&1 | FileCheck %s
// RUN: tp-opt %s --tp-legalize --tp-check-sharding-rules=ranks=3 2>&1 | FileCheck %s

// CHECK-NOT: error
// CHECK-COUNT-13: strategies hold
// CHECK-NOT: error

func.func @main(%x: tensor<6x12xf32>, %n: tensor<6x12xindex>, %i: tensor<18x1xi32>, %y: tensor<18x12xf32>, %s: tensor<6x3xf32>, %at: index, %by: f32, %c: i1) {
  %0 = tensor.gather %x[%i] gather_dims([0]) : (tensor<6x12xf32>, tensor<18x1xi32>) -> tensor<18x12xf32>
  // A table of indices is summed like one of numbers.
  %1 = tensor.gather %n[%i] gather_dims([0]) : (tensor<6x12xindex>, tensor<18x1xi32>) -> tensor<18x12xindex>
  %2 = tensor.scatter %y into %x[%i] scatter_dims([0]) unique : (tensor<18x12xf32>, tensor<6x12xf32>, tensor<18x1xi32>) -> tensor<6x12xf32>
  %3 = tensor.insert %by into %x[%at, %at] : tensor<6x12xf32>
  %4 = tensor.insert_slice %s into %x[0, 2] [6, 3] [1, 3] : tensor<6x3xf32> into tensor<6x12xf32>
  %5 = tensor.generate {
  ^bb0(%a: index, %b: index):
    %v = tensor.extract %x[%a, %b] : tensor<6x12xf32>
    %w = arith.mulf %v, %by : f32
    tensor.yield %w : f32
  } : tensor<6x12xf32>
  %6 = tensor.bitcast %x : tensor<6x12xf32> to tensor<6x12xi32>
  %7 = scf.if %c -> tensor<6x12xf32> {
    %e = math.exp %x : tensor<6x12xf32>
    scf.yield %e : tensor<6x12xf32>
  } else {
    %d = arith.addf %x, %5 : tensor<6x12xf32>
    scf.yield %d : tensor<6x12xf32>
  }
  %8 = tensor.pad %x low[6, 0] high[0, 0] {
  ^bb0(%a: index, %b: index):
    %k = arith.index_cast %b : index to i32
    %f = arith.sitofp %k : i32 to f32
    tensor.yield %f : f32
  } : tensor<6x12xf32> to tensor<12x12xf32>
  %9 = tensor.extract_slice %x[%at, 0] [2, 12] [3, 1] : tensor<6x12xf32> to tensor<2x12xf32>
  return
}
