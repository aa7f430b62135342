// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import struct; open(r'%t/arg0.bin', 'wb').write(struct.pack('<9q', *range(9)))"
// RUN: tp-opt %s --tp-interpret=directory=%t -o /dev/null
// RUN: %python -c "import struct; [print(*struct.unpack('<9q', open(r'%t/result' + str(i) + '.bin', 'rb').read())) for i in range(4)]" | FileCheck %s

// Indices that divide numbers on both sides of zero (the loop less 4): rounded
// down, rounded up, the remainder, and several loops in one.
// CHECK:      2 2 3 3 4 4 5 5 6
// CHECK-NEXT: 2 3 3 4 4 5 5 6 6
// CHECK-NEXT: 2 0 1 2 0 1 2 0 1
// CHECK-NEXT: 0 1 2 1 2 3 2 3 4

#id = affine_map<(i) -> (i)>
func.func @main(%x: tensor<9xi64>) -> (tensor<9xi64>, tensor<9xi64>, tensor<9xi64>, tensor<3x3xi64>) {
  %empty = tensor.empty() : tensor<9xi64>
  %down = linalg.generic {indexing_maps = [affine_map<(i) -> ((i - 4) floordiv 2 + 4)>, #id], iterator_types = ["parallel"]} ins(%x : tensor<9xi64>) outs(%empty : tensor<9xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<9xi64>
  %up = linalg.generic {indexing_maps = [affine_map<(i) -> ((i - 4) ceildiv 2 + 4)>, #id], iterator_types = ["parallel"]} ins(%x : tensor<9xi64>) outs(%empty : tensor<9xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<9xi64>
  %rest = linalg.generic {indexing_maps = [affine_map<(i) -> ((i - 4) mod 3)>, #id], iterator_types = ["parallel"]} ins(%x : tensor<9xi64>) outs(%empty : tensor<9xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<9xi64>
  %square = tensor.empty() : tensor<3x3xi64>
  %sum = linalg.generic {indexing_maps = [affine_map<(i, j) -> ((i * 2 + j * 2) ceildiv 2)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<9xi64>) outs(%square : tensor<3x3xi64>) {
  ^bb0(%in: i64, %out: i64):
    linalg.yield %in : i64
  } -> tensor<3x3xi64>
  return %down, %up, %rest, %sum : tensor<9xi64>, tensor<9xi64>, tensor<9xi64>, tensor<3x3xi64>
}
