// RUN: split-file %s %t
// RUN: tp-compile %t/model.mlir --plan=transformer --mesh=tp=2 --write-plan=- | FileCheck %s --match-full-lines --check-prefix=PLAIN
// RUN: tp-compile %t/model.mlir '--plan=transformer{sequence_parallel,  loss_parallel}' --mesh=tp=2 --write-plan=- | FileCheck %s --match-full-lines --check-prefix=SEQUENCE
// RUN: tp-compile %t/model.mlir --plan=%t/own.mlir --write-plan=- | FileCheck %s --match-full-lines --check-prefix=OWN
// RUN: tp-compile %t/model.mlir --plan=transformer --mesh=dp=2,tp=2 --write-plan=- | FileCheck %s --match-full-lines --check-prefix=BATCH
// RUN: tp-compile %t/model.mlir --plan=transformer --mesh=dp=2 --write-plan=- | FileCheck %s --match-full-lines --check-prefix=BATCH-ALONE
// RUN: tp-compile %t/router.mlir --plan=transformer --mesh=tp=2 --write-plan=- 2>%t/router.err | FileCheck %s --match-full-lines --check-prefix=ROUTER
// RUN: FileCheck %s --input-file=%t/router.err --check-prefix=WARNED
// RUN: tp-compile %t/experts.mlir --plan=transformer --mesh=tp=2 --write-plan=- 2>&1 | FileCheck %s --match-full-lines --check-prefix=EXPERTS
// RUN: tp-compile %t/experts.mlir --plan=transformer --mesh=tp=2 --verify --explain=- 2>&1 | FileCheck %s --check-prefix=SENT
// RUN: sed 's/@main/@decode/; s/tensor<4x/tensor<1x/g; /^#/d' %t/model.mlir > %t/decode.mlir
// RUN: cat %t/model.mlir %t/decode.mlir > %t/two.mlir
// RUN: tp-compile %t/two.mlir '--plan=transformer{sequence_parallel}' --mesh=tp=2 --verify -o %t/two.tp 2>&1 | FileCheck %s --check-prefix=TWO
// RUN: tp-compile %t/two.mlir --plan=transformer --mesh=tp=2 --verify -o %t/two.tp 2>&1 | count 1
// RUN: sed 's/m.a.weight/m.a/; s/m.b.weight/m.b/; s/loc("m.[ab]"/loc("m"/' %t/model.mlir > %t/leaves.mlir
// RUN: tp-compile %t/leaves.mlir '--plan=transformer{sequence_parallel}' --mesh=tp=2 --verify -o %t/leaves.tp 2>&1 | FileCheck %s --check-prefix=LEAVES
// RUN: tp-compile %t/leaves.mlir --plan=transformer --mesh=tp=2 --verify -o %t/leaves.tp 2>&1 | count 1
// RUN: sed 's/n.weight/m.n/; s/loc("n"/loc("m"/' %t/model.mlir > %t/vector-of-block.mlir
// RUN: tp-compile %t/vector-of-block.mlir '--plan=transformer{sequence_parallel, loss_parallel}' --mesh=tp=2 --write-plan=- | FileCheck %s --match-full-lines --check-prefix=BLOCK
// RUN: tp-opt %t/model.mlir --tp-apply-plan='plan=%t/own.mlir report=-' -o /dev/null | FileCheck %s --check-prefix=BOUND
// RUN: tp-compile %t/model.mlir --plan=transformer --mesh=tp=2 --explain=- | FileCheck %s --check-prefix=EXPLAINED
// RUN: not tp-compile %t/model.mlir --plan=%t/scope.mlir --verify 2>&1 | FileCheck %s --check-prefix=SCOPE
// RUN: not tp-compile %t/model.mlir --plan=%t/nowhere.mlir --verify 2>&1 | FileCheck %s --check-prefix=NOWHERE
// RUN: not tp-compile %t/model.mlir '--plan=transformer{sequence}' --mesh=tp=2 --verify 2>&1 | FileCheck %s --check-prefix=OPTION
// RUN: not tp-compile %t/model.mlir '--plan=transformer{' --mesh=tp=2 --verify 2>&1 | FileCheck %s --check-prefix=BRACE
// RUN: not tp-compile %t/model.mlir --plan=transformer --verify 2>&1 | FileCheck %s --check-prefix=MESH
// RUN: not tp-compile %t/model.mlir --plan=transformer --mesh=rows=2 --verify 2>&1 | FileCheck %s --check-prefix=AXIS
// RUN: not tp-compile %t/vector.mlir --plan=transformer --mesh=dp=2 --verify 2>&1 | FileCheck %s --check-prefix=NO-BATCH

// Names say nothing: what is added to the stream is found by what reaches what.
// PLAIN:      #mesh = #tp.mesh<"tp" = 2>
// PLAIN-NEXT: tp.plan @transformer on #mesh["tp"] {
// PLAIN-NEXT:   tp.parallelize "m.a" with colwise
// PLAIN-NEXT:   tp.parallelize "m.b" with rowwise
// PLAIN-NEXT:   tp.parallelize "c" with colwise {output_layouts = [replicate]}
// PLAIN-NEXT:   tp.result "logits" replicate
// PLAIN-NEXT: }

// SEQUENCE:      tp.plan @transformer on #mesh["tp"] {
// SEQUENCE-NEXT:   tp.parallelize "m.a" with colwise {input_layouts = [shard<0>]}
// SEQUENCE-NEXT:   tp.parallelize "m.b" with rowwise {output_layouts = [shard<0>]}
// SEQUENCE-NEXT:   tp.parallelize "c" with colwise {input_layouts = [shard<0>]}
// SEQUENCE-NEXT:   tp.parallelize "n" with sequence_parallel {sequence_dim = 0}
// SEQUENCE-NEXT:   tp.result 0 shard<1>
// SEQUENCE-NEXT: }

// A vector of a block is no norm with inputs and outputs of its own.
// BLOCK:      tp.plan @transformer on #mesh["tp"] {
// BLOCK-NEXT:   tp.parallelize "m.a" with colwise {input_layouts = [shard<0>]}
// BLOCK-NEXT:   tp.parallelize "m.b" with rowwise {output_layouts = [shard<0>]}
// BLOCK-NEXT:   tp.parallelize "c" with colwise {input_layouts = [shard<0>]}
// BLOCK-NEXT:   tp.result 0 shard<1>
// BLOCK-NEXT: }

// What the user's own entries name is theirs.
// OWN:      tp.plan @own on #mesh["tp"] {
// OWN-NEXT:   tp.parallelize "m.b" with rowwise
// OWN-NEXT:   tp.parallelize "m.a" with replicate
// OWN-NEXT:   tp.argument "c.weight" shard<0>
// OWN-NEXT:   tp.result 0 shard<0>
// OWN-NEXT: }
// BOUND:      tp: "m.b" rowwise
// BOUND:      tp: "m.a" replicate

// BATCH:      tp.plan @batch on #mesh["dp"] {
// BATCH-NEXT:   tp.argument "x" shard<0>
// BATCH-NEXT:   tp.result 0 shard<0>
// BATCH-NEXT: }
// BATCH:        tp.parallelize "m.a" with colwise
// BATCH-ALONE:      tp.plan @batch on #mesh["dp"] {
// BATCH-ALONE-NEXT:   tp.argument "x" shard<0>
// BATCH-ALONE-NEXT:   tp.result 0 shard<0>
// BATCH-ALONE-NEXT: }

// A router, and a layer that is alone on its way to the stream.
// ROUTER:      tp.parallelize "up" with colwise
// ROUTER-NEXT: tp.parallelize "router" with replicate
// ROUTER-NEXT: tp.parallelize "down" with rowwise
// ROUTER-NEXT: tp.parallelize "alone" with replicate
// WARNED-NOT: warning
// WARNED: transformer:1:1: warning: style transformer has no place for 'alone', whose weight every rank holds whole: it is alone in its block, with no other linear layer to pair it with; an entry for it says otherwise
// WARNED-NOT: warning

// Experts in one product with what all of them read: of the first block the inner width is
// sharded, along which each expert's second product sums, of the other one the experts,
// which one product sums over.
// EXPERTS-NOT: {{.*}}warning{{.*}}
// EXPERTS:      tp.plan @transformer on #mesh["tp"] {
// EXPERTS-NEXT:   tp.parallelize "m.down" with rowwise
// EXPERTS-NEXT:   tp.parallelize "n.up" with colwise
// EXPERTS-NEXT:   tp.parallelize "n.down" with rowwise
// EXPERTS-NEXT:   tp.argument "m.up" shard<2>
// EXPERTS-NEXT:   tp.result 0 shard<0>
// EXPERTS-NEXT: }
// SENT: verified: {{[0-9]+}} values agree on 2 ranks
// SENT: all_reduce over tp at {{.*}}: f32, 192 bytes
// SENT: reduce_scatter over tp at {{.*}}: f32, 96 bytes
// SENT: 2 2 288 20.0 in all

// The next token is no sequence.
// TWO: transformer:1:1: warning: style transformer leaves out sequence_parallel: the sequence of @decode has one row, and a plan is for all entries

// A weight by itself has no inputs and outputs.
// LEAVES: transformer:1:1: warning: style transformer leaves the layout of the sequence to tp at 'm.a' and 1 other: sequence_parallel is for modules that have one matrix each, and these weights are parameters of a larger module, stacked over layers, or no matrices

// Entries have the lines that --write-plan gives them.
// EXPLAINED: pinned argument m.b.weight to shard<0> by transformer:4:1

// SCOPE: scope.mlir:3:3: error: style transformer found no block of a transformer in 'n'
// NOWHERE: nowhere.mlir:3:3: error: no module matches 'blocks', style transformer is for a model or a module with blocks
// OPTION: transformer:1:1: error: plan 'transformer' has no option 'sequence': its options are sequence_parallel, loss_parallel
// BRACE: transformer:1:1: error: expected transformer or transformer{OPTION, ..}, got 'transformer{'
// MESH: --mesh:1:1: error: plan 'transformer' needs the mesh, expected axis=size with a size of at least 1, got ''
// AXIS: --mesh:1:1: error: plan 'transformer' is for the axes 'tp' and 'dp', the mesh has 'rows'
// NO-BATCH: transformer:1:1: error: style data_parallel found no batch

//--- own.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @own on #mesh["tp"] {
  tp.parallelize "" with transformer {loss_parallel, sequence_parallel = false}
  tp.parallelize "m.a" with replicate
  tp.argument "c.weight" shard<0>
}
//--- scope.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @scope on #mesh["tp"] {
  tp.parallelize "n" with transformer
}
//--- nowhere.mlir
#mesh = #tp.mesh<"tp" = 2>
tp.plan @nowhere on #mesh["tp"] {
  tp.parallelize "blocks" with transformer
}
//--- model.mlir
#rows = affine_map<(i, j) -> (i, j)>
#row = affine_map<(i, j) -> (j)>
func.func @main(%x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"}, %n: tensor<8xf32> {tp.name = "n.weight", tp.kind = "parameter"}, %a: tensor<8x16xf32> {tp.name = "m.a.weight", tp.kind = "parameter"}, %b: tensor<16x8xf32> {tp.name = "m.b.weight", tp.kind = "parameter"}, %c: tensor<8x32xf32> {tp.name = "c.weight", tp.kind = "parameter"}) -> (tensor<4x32xf32> {tp.name = "logits"}) {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<4x8xf32>
  %e16 = tensor.empty() : tensor<4x16xf32>
  %e32 = tensor.empty() : tensor<4x32xf32>
  %z8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %z16 = linalg.fill ins(%zero : f32) outs(%e16 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %z32 = linalg.fill ins(%zero : f32) outs(%e32 : tensor<4x32xf32>) -> tensor<4x32xf32>
  %scaled = linalg.generic {indexing_maps = [#rows, #row, #rows], iterator_types = ["parallel", "parallel"]} ins(%x, %n : tensor<4x8xf32>, tensor<8xf32>) outs(%e8 : tensor<4x8xf32>) {
  ^bb0(%l: f32, %r: f32, %o: f32):
    %p = arith.mulf %l, %r : f32
    linalg.yield %p : f32
  } -> tensor<4x8xf32> loc("n"("scaled"))
  %up = linalg.matmul ins(%scaled, %a : tensor<4x8xf32>, tensor<8x16xf32>) outs(%z16 : tensor<4x16xf32>) -> tensor<4x16xf32> loc("m.a"("up"))
  %act = linalg.generic {indexing_maps = [#rows, #rows], iterator_types = ["parallel", "parallel"]} ins(%up : tensor<4x16xf32>) outs(%e16 : tensor<4x16xf32>) {
  ^bb0(%l: f32, %o: f32):
    %p = math.tanh %l : f32
    linalg.yield %p : f32
  } -> tensor<4x16xf32> loc("m"("act"))
  %down = linalg.matmul ins(%act, %b : tensor<4x16xf32>, tensor<16x8xf32>) outs(%z8 : tensor<4x8xf32>) -> tensor<4x8xf32> loc("m.b"("down"))
  %sum = linalg.add ins(%down, %x : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e8 : tensor<4x8xf32>) -> tensor<4x8xf32> loc(""("sum"))
  %logits = linalg.matmul ins(%sum, %c : tensor<4x8xf32>, tensor<8x32xf32>) outs(%z32 : tensor<4x32xf32>) -> tensor<4x32xf32> loc("c"("logits"))
  return %logits : tensor<4x32xf32>
}
//--- experts.mlir
#rows = affine_map<(i, j) -> (i, j)>
func.func @main(%x: tensor<6x8xf32> {tp.name = "x", tp.kind = "user_input"}, %r: tensor<6x4xf32> {tp.name = "r", tp.kind = "user_input"}, %mu: tensor<4x8x16xf32> {tp.name = "m.up", tp.kind = "parameter"}, %md: tensor<4x16x8xf32> {tp.name = "m.down", tp.kind = "parameter"}, %nu: tensor<4x8x16xf32> {tp.name = "n.up", tp.kind = "parameter"}, %nd: tensor<4x16x8xf32> {tp.name = "n.down", tp.kind = "parameter"}) -> (tensor<6x8xf32> {tp.name = "y"}) {
  %zero = arith.constant 0.0 : f32
  %e8 = tensor.empty() : tensor<6x8xf32>
  %z8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %ew = tensor.empty() : tensor<8x4x16xf32>
  %e64 = tensor.empty() : tensor<6x64xf32>
  %z64 = linalg.fill ins(%zero : f32) outs(%e64 : tensor<6x64xf32>) -> tensor<6x64xf32>
  // einsum "td,edi->tei", "tei,eio,te->to"
  %mt = linalg.transpose ins(%mu : tensor<4x8x16xf32>) outs(%ew : tensor<8x4x16xf32>) permutation = [1, 0, 2]
  %mc = tensor.collapse_shape %mt [[0], [1, 2]] : tensor<8x4x16xf32> into tensor<8x64xf32>
  %mw = tensor.expand_shape %mc [[0, 1], [2]] output_shape [1, 8, 64] : tensor<8x64xf32> into tensor<1x8x64xf32>
  %mx = tensor.expand_shape %x [[0, 1], [2]] output_shape [1, 6, 8] : tensor<6x8xf32> into tensor<1x6x8xf32>
  %zm = tensor.expand_shape %z64 [[0, 1], [2]] output_shape [1, 6, 64] : tensor<6x64xf32> into tensor<1x6x64xf32>
  %mh = linalg.batch_matmul ins(%mx, %mw : tensor<1x6x8xf32>, tensor<1x8x64xf32>) outs(%zm : tensor<1x6x64xf32>) -> tensor<1x6x64xf32>
  %me = tensor.expand_shape %mh [[0], [1], [2, 3]] output_shape [1, 6, 4, 16] : tensor<1x6x64xf32> into tensor<1x6x4x16xf32>
  %mf = tensor.collapse_shape %me [[0, 1], [2], [3]] : tensor<1x6x4x16xf32> into tensor<6x4x16xf32>
  %eb = tensor.empty() : tensor<4x6x16xf32>
  %mb = linalg.transpose ins(%mf : tensor<6x4x16xf32>) outs(%eb : tensor<4x6x16xf32>) permutation = [1, 0, 2]
  %eo = tensor.empty() : tensor<4x6x8xf32>
  %zo = linalg.fill ins(%zero : f32) outs(%eo : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %mo = linalg.batch_matmul ins(%mb, %md : tensor<4x6x16xf32>, tensor<4x16x8xf32>) outs(%zo : tensor<4x6x8xf32>) -> tensor<4x6x8xf32>
  %ep = tensor.empty() : tensor<6x4x8xf32>
  %mp = linalg.transpose ins(%mo : tensor<4x6x8xf32>) outs(%ep : tensor<6x4x8xf32>) permutation = [1, 0, 2]
  %mr = tensor.expand_shape %r [[0], [1, 2]] output_shape [6, 1, 4] : tensor<6x4xf32> into tensor<6x1x4xf32>
  %e1 = tensor.empty() : tensor<6x1x8xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<6x1x8xf32>) -> tensor<6x1x8xf32>
  %ms = linalg.batch_matmul ins(%mr, %mp : tensor<6x1x4xf32>, tensor<6x4x8xf32>) outs(%z1 : tensor<6x1x8xf32>) -> tensor<6x1x8xf32>
  %my = tensor.collapse_shape %ms [[0], [1, 2]] : tensor<6x1x8xf32> into tensor<6x8xf32>
  %s = linalg.add ins(%x, %my : tensor<6x8xf32>, tensor<6x8xf32>) outs(%e8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  // einsum "td,edi->tei", "tei,te,eio->to"
  %nt = linalg.transpose ins(%nu : tensor<4x8x16xf32>) outs(%ew : tensor<8x4x16xf32>) permutation = [1, 0, 2]
  %nc = tensor.collapse_shape %nt [[0], [1, 2]] : tensor<8x4x16xf32> into tensor<8x64xf32>
  %nh = linalg.matmul ins(%s, %nc : tensor<6x8xf32>, tensor<8x64xf32>) outs(%z64 : tensor<6x64xf32>) -> tensor<6x64xf32>
  %ne = tensor.expand_shape %nh [[0], [1, 2]] output_shape [6, 4, 16] : tensor<6x64xf32> into tensor<6x4x16xf32>
  %et = tensor.empty() : tensor<6x4x16xf32>
  %nr = linalg.broadcast ins(%r : tensor<6x4xf32>) outs(%et : tensor<6x4x16xf32>) dimensions = [2]
  %nw = linalg.mul ins(%ne, %nr : tensor<6x4x16xf32>, tensor<6x4x16xf32>) outs(%et : tensor<6x4x16xf32>) -> tensor<6x4x16xf32>
  %nm = tensor.collapse_shape %nw [[0], [1, 2]] : tensor<6x4x16xf32> into tensor<6x64xf32>
  %nv = tensor.collapse_shape %nd [[0, 1], [2]] : tensor<4x16x8xf32> into tensor<64x8xf32>
  %no = linalg.matmul ins(%nm, %nv : tensor<6x64xf32>, tensor<64x8xf32>) outs(%z8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  %y = linalg.add ins(%s, %no : tensor<6x8xf32>, tensor<6x8xf32>) outs(%e8 : tensor<6x8xf32>) -> tensor<6x8xf32>
  return %y : tensor<6x8xf32>
}
//--- router.mlir
#rows = affine_map<(i, j) -> (i, j)>
#column = affine_map<(i, j) -> (i, 0)>
func.func @main(%x: tensor<4x8xf32> {tp.name = "x", tp.kind = "user_input"}, %w: tensor<8x16xf32> {tp.name = "up.weight", tp.kind = "parameter"}, %v: tensor<16x8xf32> {tp.name = "down.weight", tp.kind = "parameter"}, %r: tensor<8x1xf32> {tp.name = "router.weight", tp.kind = "parameter"}, %a: tensor<8x8xf32> {tp.name = "alone.weight", tp.kind = "parameter"}) -> tensor<4x8xf32> {
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<4x1xf32>
  %e8 = tensor.empty() : tensor<4x8xf32>
  %e16 = tensor.empty() : tensor<4x16xf32>
  %z1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<4x1xf32>) -> tensor<4x1xf32>
  %z8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %z16 = linalg.fill ins(%zero : f32) outs(%e16 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %up = linalg.matmul ins(%x, %w : tensor<4x8xf32>, tensor<8x16xf32>) outs(%z16 : tensor<4x16xf32>) -> tensor<4x16xf32>
  %score = linalg.matmul ins(%x, %r : tensor<4x8xf32>, tensor<8x1xf32>) outs(%z1 : tensor<4x1xf32>) -> tensor<4x1xf32>
  %down = linalg.matmul ins(%up, %v : tensor<4x16xf32>, tensor<16x8xf32>) outs(%z8 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %weighed = linalg.generic {indexing_maps = [#rows, #column, #rows], iterator_types = ["parallel", "parallel"]} ins(%down, %score : tensor<4x8xf32>, tensor<4x1xf32>) outs(%e8 : tensor<4x8xf32>) {
  ^bb0(%l: f32, %s: f32, %o: f32):
    %p = arith.mulf %l, %s : f32
    linalg.yield %p : f32
  } -> tensor<4x8xf32>
  %sum = linalg.add ins(%x, %weighed : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e8 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %once = linalg.matmul ins(%sum, %a : tensor<4x8xf32>, tensor<8x8xf32>) outs(%z8 : tensor<4x8xf32>) -> tensor<4x8xf32>
  %last = linalg.add ins(%sum, %once : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e8 : tensor<4x8xf32>) -> tensor<4x8xf32>
  return %last : tensor<4x8xf32>
}
//--- vector.mlir
func.func @main(%x: tensor<8xf32> {tp.name = "x", tp.kind = "user_input"}) -> tensor<8xf32> {
  return %x : tensor<8xf32>
}
