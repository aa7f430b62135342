// The model of docs/figures/rank-program.svg: a norm, a feed-forward block and
// a residual. The plan shards the two weights as Megatron does.
func.func @main(%x: tensor<32x64xf32> {tp.name = "x"},
                %w1: tensor<64x256xf32> {tp.name = "w1", tp.kind = "parameter"},
                %w2: tensor<256x64xf32> {tp.name = "w2", tp.kind = "parameter"})
    -> (tensor<32x64xf32> {tp.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %size = arith.constant 64.0 : f32
  %e0 = tensor.empty() : tensor<32xf32>
  %f0 = linalg.fill ins(%zero : f32) outs(%e0 : tensor<32xf32>) -> tensor<32xf32>
  %squares = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>],
      iterator_types = ["parallel", "reduction"]}
      ins(%x : tensor<32x64xf32>) outs(%f0 : tensor<32xf32>) {
  ^bb0(%a: f32, %sum: f32):
    %square = arith.mulf %a, %a : f32
    %next = arith.addf %sum, %square : f32
    linalg.yield %next : f32
  } -> tensor<32xf32> loc("norm")
  %e1 = tensor.empty() : tensor<32x64xf32>
  %norm = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>,
                       affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%x, %squares : tensor<32x64xf32>, tensor<32xf32>) outs(%e1 : tensor<32x64xf32>) {
  ^bb0(%a: f32, %sum: f32, %out: f32):
    %mean = arith.divf %sum, %size : f32
    %root = math.rsqrt %mean : f32
    %scaled = arith.mulf %a, %root : f32
    linalg.yield %scaled : f32
  } -> tensor<32x64xf32> loc("norm")
  %e2 = tensor.empty() : tensor<32x256xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<32x256xf32>) -> tensor<32x256xf32>
  %up = linalg.matmul ins(%norm, %w1 : tensor<32x64xf32>, tensor<64x256xf32>)
      outs(%f2 : tensor<32x256xf32>) -> tensor<32x256xf32> loc("up")
  %tanh = math.tanh %up : tensor<32x256xf32> loc("tanh")
  %f3 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<32x64xf32>) -> tensor<32x64xf32>
  %down = linalg.matmul ins(%tanh, %w2 : tensor<32x256xf32>, tensor<256x64xf32>)
      outs(%f3 : tensor<32x64xf32>) -> tensor<32x64xf32> loc("down")
  %y = arith.addf %down, %x : tensor<32x64xf32> loc("residual")
  return %y : tensor<32x64xf32>
}
