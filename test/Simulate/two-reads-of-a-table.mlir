// The ranks hold the elements of two reads of one table at different places: an
// element is there where the read that the body chooses is, whatever the other
// one finds.
// RUN: %python -c "import struct, sys; sys.path.append('%S/..'); import npy; npy.write(sys.argv[1], '<f4', [6, 10], struct.pack('60f', *range(60)))" %t.x.npy
// DEFINE: %{equal} = %python -c "import struct, sys; sys.path.append('%S/..'); import npy; got = struct.unpack('120f', npy.read(sys.argv[1])); rows = [[*range(10 * i, 10 * i + 10)] for i in range(6)]; assert [*got] == [v for row in rows for v in row + row], got"
// RUN: tp-compile %s --verify -o %t.tp 2>&1 | count 1
// RUN: tp-run %t.tp --input=table=@%t.x.npy --output=twice=@%t.y.npy && %{equal} %t.y.npy
// RUN: sed 's/"tp" = 2/"tp" = 3/' %s > %t.mlir
// RUN: tp-compile %t.mlir --verify -o %t.tp 2>&1 | count 1
// RUN: tp-run %t.tp --input=table=@%t.x.npy --output=twice=@%t.y.npy && %{equal} %t.y.npy

#map = affine_map<(d0, d1) -> (d0, d1)>
module attributes {tp.mesh = #tp.mesh<"tp" = 2>} {
  func.func @main(%table: tensor<6x10xf32> {tp.name = "table", tp.kind = "user_input", tp.pin = {tp = #tp.placement<shard<1>>}}) -> (tensor<6x20xf32> {tp.name = "twice"}) {
    %c10 = arith.constant 10 : index
    %empty = tensor.empty() : tensor<6x20xf32>
    %twice = linalg.generic {indexing_maps = [#map], iterator_types = ["parallel", "parallel"]} outs(%empty : tensor<6x20xf32>) {
    ^bb0(%out: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %isFirst = arith.cmpi ult, %j, %c10 : index
      %x = scf.if %isFirst -> (f32) {
        %a = tensor.extract %table[%i, %j] : tensor<6x10xf32>
        scf.yield %a : f32
      } else {
        %k = arith.subi %j, %c10 : index
        %a = tensor.extract %table[%i, %k] : tensor<6x10xf32>
        scf.yield %a : f32
      }
      linalg.yield %x : f32
    } -> tensor<6x20xf32>
    return %twice : tensor<6x20xf32>
  }
}
