// RUN: rm -rf %t && mkdir %t
// RUN: %python -c "import struct; open(r'%t/arg0.bin', 'wb').write(struct.pack('<6f', 1, 2, 3, 4, 5, 6)); open(r'%t/arg1.bin', 'wb').write(struct.pack('<2q', 1, 0))"
// RUN: tp-opt %s --tp-interpret=directory=%t -o /dev/null
// RUN: %python -c "import struct; print(struct.unpack('<2f', open(r'%t/result0.bin', 'rb').read()), struct.unpack('<4H', open(r'%t/result1.bin', 'rb').read()))" | FileCheck %s
// RUN: %python -c "open(r'%t/arg1.bin', 'wb').write(b'abc')"
// RUN: not tp-opt %s --tp-interpret=directory=%t -o /dev/null 2>&1 | FileCheck %s --check-prefix=SIZE

// Row sums of the rows that are asked for, and bits of 1/3, 2/3, -4 and a
// subnormal number in bf16.
// CHECK: (15.0, 6.0) (16043, 16171, 49280, 0)
// SIZE: arg1.bin' of 3 bytes is not a 'tensor<2xi64>'

func.func @main(%x: tensor<2x3xf32>, %rows: tensor<2xi64>) -> (tensor<2xf32>, tensor<4xbf16>) {
  %zero = arith.constant 0.0 : f32
  %empty = tensor.empty() : tensor<2xf32>
  %init = linalg.fill ins(%zero : f32) outs(%empty : tensor<2xf32>) -> tensor<2xf32>
  %sums = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%rows, %x : tensor<2xi64>, tensor<2x3xf32>) outs(%init : tensor<2xf32>) {
  ^bb0(%in: i64, %unused: f32, %out: f32):
    %row = arith.index_cast %in : i64 to index
    %column = linalg.index 1 : index
    %0 = tensor.extract %x[%row, %column] : tensor<2x3xf32>
    %1 = arith.addf %0, %out : f32
    linalg.yield %1 : f32
  } -> tensor<2xf32>
  %third = arith.constant 0.333333343 : f32
  %scale = arith.constant dense<[1.0, 2.0, -12.0, 1.0e-40]> : tensor<4xf32>
  %bf16 = tensor.empty() : tensor<4xbf16>
  %rounded = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%scale : tensor<4xf32>) outs(%bf16 : tensor<4xbf16>) {
  ^bb0(%in: f32, %out: bf16):
    %0 = arith.mulf %in, %third : f32
    %1 = arith.truncf %0 : f32 to bf16
    linalg.yield %1 : bf16
  } -> tensor<4xbf16>
  return %sums, %rounded : tensor<2xf32>, tensor<4xbf16>
}
