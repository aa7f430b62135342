// RUN: tp-opt %s --split-input-file --tp-cuda-compile=show=ptx -o /dev/null | FileCheck %s
// RUN: tp-opt %s --split-input-file --tp-cuda-compile=show=launches -o /dev/null | FileCheck %s --check-prefix=LAUNCH

// Eight neighbours of bf16 a thread: every access is 16 bytes.

// CHECK-LABEL: .entry tp_kernel_0(
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT:   ld.global
// CHECK:       st.global.v4.b32
// CHECK-NOT:   st.global
// CHECK:       ret
// LAUNCH:      "block":[256,1,1],"buffers":[{{.*}}],"bytes":49152,"flops":8192,"function":"tp_kernel_0","grid":[4,1,1]
func.func @main(%a: tensor<8x1024xbf16>, %b: tensor<8x1024xbf16>) -> tensor<8x1024xbf16> {
  %e = tensor.empty() : tensor<8x1024xbf16>
  %y = linalg.add ins(%a, %b : tensor<8x1024xbf16>, tensor<8x1024xbf16>) outs(%e : tensor<8x1024xbf16>) -> tensor<8x1024xbf16>
  return %y : tensor<8x1024xbf16>
}

// -----

// A softmax keeps its row in registers: it is read once, in 16 bytes, and written
// once. The maximum and the sum go through the warps by shuffles.

// CHECK-LABEL: .entry tp_kernel_0(
// CHECK-COUNT-4: ld.global.nc.v4.b32
// CHECK-NOT:   ld.global
// CHECK:       shfl.sync.bfly
// CHECK:       bar{{.*}}sync
// CHECK-NOT:   ld.global
// CHECK-COUNT-4: st.global.v4.b32
// CHECK-NOT:   st.global
// CHECK:       ret
// LAUNCH:      "block":[256,1,1]
// LAUNCH-SAME: "grid":[16,1,1]
func.func @main(%x: tensor<16x4096xf32>) -> tensor<16x4096xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %r = tensor.empty() : tensor<16xf32>
  %w = tensor.empty() : tensor<16x4096xf32>
  %l = linalg.fill ins(%low : f32) outs(%r : tensor<16xf32>) -> tensor<16xf32>
  %z = linalg.fill ins(%zero : f32) outs(%r : tensor<16xf32>) -> tensor<16xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<16x4096xf32>) outs(%l : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  %e = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %m : tensor<16x4096xf32>, tensor<16xf32>) outs(%w : tensor<16x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %d = arith.subf %a, %b : f32
    %s = math.exp %d : f32
    linalg.yield %s : f32
  } -> tensor<16x4096xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%e : tensor<16x4096xf32>) outs(%z : tensor<16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<16xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%e, %t : tensor<16x4096xf32>, tensor<16xf32>) outs(%w : tensor<16x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.divf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<16x4096xf32>
  return %y : tensor<16x4096xf32>
}

// -----

// The rows of a table at data: the index is read once per chunk, the row in 16
// bytes.

// CHECK-LABEL: .entry tp_kernel_0(
// CHECK-COUNT-1: ld.global.nc.b64
// CHECK-COUNT-1: ld.global.nc.v4.b32
// CHECK-NOT:   ld.global
// CHECK:       st.global.v4.b32
// CHECK-NOT:   st.global
func.func @main(%t: tensor<10x64xbf16>, %i: tensor<128xi64>) -> tensor<128x64xbf16> {
  %e = tensor.empty() : tensor<128x64xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(r, c) -> (r)>, affine_map<(r, c) -> (r, c)>], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<128xi64>) outs(%e : tensor<128x64xbf16>) {
  ^bb0(%a: i64, %o: bf16):
    %r = arith.index_cast %a : i64 to index
    %c = linalg.index 1 : index
    %v = tensor.extract %t[%r, %c] : tensor<10x64xbf16>
    linalg.yield %v : bf16
  } -> tensor<128x64xbf16>
  return %y : tensor<128x64xbf16>
}

// -----

// A norm stays a row per block although its statistics lie side by side: what most
// bytes are read along decides.

// CHECK-LABEL: .entry tp_kernel_0(
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT:   ld.global
// CHECK:       shfl.sync.bfly
// CHECK-NOT:   ld.global
// CHECK-COUNT-2: st.global.v4.b32
// CHECK:       ret
// LAUNCH:      "block":[256,1,1],{{.*}}"bytes":67108864
// LAUNCH-SAME: "grid":[4096,1,1]
func.func @main(%x: tensor<4096x4096xbf16>) -> tensor<4096x4096xbf16> {
  %zero = arith.constant 0.0 : f32
  %n = arith.constant 4096.0 : f32
  %r = tensor.empty() : tensor<4096xf32>
  %z = linalg.fill ins(%zero : f32) outs(%r : tensor<4096xf32>) -> tensor<4096xf32>
  %s = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<4096x4096xbf16>) outs(%z : tensor<4096xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %w = arith.extf %a : bf16 to f32
    %q = arith.mulf %w, %w : f32
    %t = arith.addf %q, %o : f32
    linalg.yield %t : f32
  } -> tensor<4096xf32>
  %k = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]}
      ins(%s : tensor<4096xf32>) outs(%r : tensor<4096xf32>) {
  ^bb0(%a: f32, %o: f32):
    %m = arith.divf %a, %n : f32
    %q = math.rsqrt %m : f32
    linalg.yield %q : f32
  } -> tensor<4096xf32>
  %e = tensor.empty() : tensor<4096x4096xbf16>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]}
      ins(%x, %k : tensor<4096x4096xbf16>, tensor<4096xf32>) outs(%e : tensor<4096x4096xbf16>) {
  ^bb0(%a: bf16, %b: f32, %o: bf16):
    %w = arith.extf %a : bf16 to f32
    %m = arith.mulf %w, %b : f32
    %t = arith.truncf %m : f32 to bf16
    linalg.yield %t : bf16
  } -> tensor<4096x4096xbf16>
  return %y : tensor<4096x4096xbf16>
}

// -----

// A transpose reads and writes 16 bytes at a time, through a tile in shared memory.

// CHECK-LABEL: .entry tp_kernel_0(
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK-NOT:   ld.global
// CHECK:       bar{{.*}}sync
// CHECK-NOT:   ld.global
// CHECK-COUNT-2: st.global.v4.b32
// CHECK-NOT:   st.global
// CHECK:       ret
// LAUNCH:      "block":[256,1,1],{{.*}}"function":"tp_kernel_0","grid":[256,1,1],"scratch_bytes":0,"shared_bytes":8448}
func.func @main(%x: tensor<512x2048xbf16>) -> tensor<2048x512xbf16> {
  %e = tensor.empty() : tensor<2048x512xbf16>
  %y = linalg.transpose ins(%x : tensor<512x2048xbf16>) outs(%e : tensor<2048x512xbf16>) permutation = [1, 0]
  return %y : tensor<2048x512xbf16>
}

// -----

// A whole tensor is added up by many blocks, four loads in flight; the last block adds
// up what they found.

// CHECK-LABEL: .entry tp_kernel_0(
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK:       fence.acq_rel.gpu
// CHECK:       atom.global.add.u32
// CHECK:       fence.acq_rel.gpu
// CHECK:       ret
// LAUNCH:      "block":[256,1,1],{{.*}}"grid":[1024,1,1]
func.func @main(%x: tensor<16777216xf32>) -> tensor<f32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<f32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<f32>) -> tensor<f32>
  %y = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> ()>], iterator_types = ["reduction"]}
      ins(%x : tensor<16777216xf32>) outs(%z : tensor<f32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<f32>
  return %y : tensor<f32>
}

// -----

// The gradient of a bias: 32 pieces of the columns, each by 32 blocks.

// CHECK-LABEL: .entry tp_kernel_0(
// CHECK-COUNT-2: ld.global.nc.v4.b32
// CHECK:       fence.acq_rel.gpu
// CHECK:       atom.global.add.u32
// CHECK:       fence.acq_rel.gpu
// CHECK:       ret
// LAUNCH:      "block":[256,1,1],{{.*}}"grid":[1024,1,1]
func.func @main(%x: tensor<8192x4096xf32>) -> tensor<4096xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<4096xf32>
  %z = linalg.fill ins(%zero : f32) outs(%e : tensor<4096xf32>) -> tensor<4096xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (j, i)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<8192x4096xf32>) outs(%z : tensor<4096xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.addf %a, %o : f32
    linalg.yield %s : f32
  } -> tensor<4096xf32>
  return %y : tensor<4096xf32>
}
