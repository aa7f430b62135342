// RUN: tp-compile %s --plan=%S/Inputs/tied-weight-of-a-module-that-is-not-run.plan.mlir --report=- -o %t.tp 2> %t.warnings | FileCheck %s
// RUN: FileCheck %s --check-prefix=WARNING --input-file=%t.warnings

// The head's weight is the table of the embedding, and this function, which reads a
// prompt, does not run the head. Its entry took the lookup for its own, and asked for
// columns of the table where the embedding's asks for rows.

// CHECK: bindings
// CHECK: embed {{ *}}embed {{ *}}embedding_rowwise {{ *}}head.weight {{ *}}[8,4] {{ *}}shard<0>
// CHECK: head {{ *}}head {{ *}}colwise_gather_output {{ *}}tp {{ *}}without effect
// CHECK: layouts
// CHECK: head.weight {{.*}}shard<0>

// WARNING: warning: nothing in module 'head' reads 'head.weight', which other modules share: the entry has no effect

func.func @main(%table: tensor<8x4xf32> {tp.kind = "parameter", tp.name = "embed.weight", tp.aliases = ["head.weight"]}, %tied: tensor<8x4xf32> {tp.kind = "parameter", tp.name = "head.weight", tp.aliases = ["embed.weight"]}, %tokens: tensor<3xi64> {tp.kind = "user_input", tp.name = "tokens"}) -> (tensor<3x4xf32> {tp.name = "o"}) {
  %e = tensor.empty() : tensor<3x4xf32>
  %rows = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%tokens : tensor<3xi64>) outs(%e : tensor<3x4xf32>) {
  ^bb0(%token: i64, %o: f32):
    %row = arith.index_cast %token : i64 to index
    %column = linalg.index 1 : index
    %x = tensor.extract %tied[%row, %column] : tensor<8x4xf32>
    linalg.yield %x : f32
  } -> tensor<3x4xf32> loc("embed"("lookup"))
  %o = linalg.exp ins(%rows : tensor<3x4xf32>) outs(%e : tensor<3x4xf32>) -> tensor<3x4xf32> loc("norm"("exp"))
  return %o : tensor<3x4xf32>
}
