// A table of 43 rows over 4 ranks is looked up by ids of the whole table: every
// rank answers for its rows alone, of which the last one has less.
//
// RUN: rm -rf %t && split-file %s %t
// RUN: %python %S/../Inputs/write_npy.py %t.table.npy=43,6
// RUN: %python -c "import struct; open('%t.ids.npy', 'wb').write(b'\x93NUMPY\x01\x00' + struct.pack('<H', 118) + b\"{'descr': '<i8', 'fortran_order': False, 'shape': (7,), }\".ljust(117) + b'\n' + struct.pack('<7q', 42, 0, 11, 10, 32, 33, 21))"
// RUN: tp-compile %t/model.mlir -o %t.1.tp --verify
// RUN: tp-run %t.1.tp --ranks=1 --input=table=@%t.table.npy --input=ids=@%t.ids.npy --output=y=@%t.y.npy
// RUN: tp-compile %t/model.mlir --plan=%t/plan.mlir -o %t.4.tp --report=%t.txt --verify
// RUN: tp-run %t.4.tp --ranks=4 --poison --input=table=@%t.table.npy --input=ids=@%t.ids.npy --expected-output=y=@%t.y.npy
// RUN: FileCheck %s --input-file=%t.txt

// CHECK:      collectives by kind
// CHECK-NEXT: kind
// CHECK-NEXT: all_reduce  1

//--- plan.mlir
#mesh = #tp.mesh<"tp" = 4>
tp.plan @p on #mesh["tp"] {
  tp.argument "table" shard<0>
  tp.result 0 replicate
}
//--- model.mlir
func.func @main(%table: tensor<43x6xf32> {tp.name = "table"}, %ids: tensor<7xi64> {tp.name = "ids"}) -> (tensor<7x6xf32> {tp.name = "y"}) {
  %e = tensor.empty() : tensor<7x6xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%ids : tensor<7xi64>) outs(%e : tensor<7x6xf32>) {
  ^bb0(%id: i64, %o: f32):
    %row = arith.index_cast %id : i64 to index
    %column = linalg.index 1 : index
    %v = tensor.extract %table[%row, %column] : tensor<43x6xf32>
    linalg.yield %v : f32
  } -> tensor<7x6xf32>
  return %y : tensor<7x6xf32>
}
