//===- tp-plan-fuzzer.cpp - plan files on a model -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A plan that cannot be followed must say why, and where.
//
//===----------------------------------------------------------------------===//

#include "../MemoryFile.h"
#include "FuzzContext.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "tp/Pipelines/Compile.h"
#include "tp/Pipelines/Pipelines.h"

using namespace mlir;

/// An embedding, a norm and a pair of layers: something for every style.
static const char *const model = R"(
#nk = affine_map<(m, n, k) -> (n, k)>
#mk = affine_map<(m, n, k) -> (m, k)>
#mn = affine_map<(m, n, k) -> (m, n)>
#ids = affine_map<(d0, d1) -> (d0)>
#all = affine_map<(d0, d1) -> (d0, d1)>
module attributes {tp.modules = [
    {name = "m", class = "M", inputs = ["ids"], outputs = ["mm2"], input_names = ["ids"]},
    {name = "m.e", class = "Embedding", inputs = ["ids"], outputs = ["e"]},
    {name = "m.n", class = "Norm", inputs = ["e"], outputs = ["exp"]},
    {name = "m.u", class = "Linear", inputs = ["exp"], outputs = ["mm"]},
    {name = "m.d", class = "Linear", inputs = ["mm"], outputs = ["mm2"]},
    {name = "o", class = "Dropout"}]} {
  func.func @main(%t: tensor<12x8xf32> {tp.name = "m.e.weight", tp.kind = "parameter"},
                  %u: tensor<16x8xf32> {tp.name = "m.u.weight", tp.kind = "parameter"},
                  %d: tensor<8x16xf32> {tp.name = "m.d.weight", tp.kind = "parameter"},
                  %x: tensor<4xi64> {tp.name = "ids", tp.kind = "user_input"}) -> (tensor<4x8xf32> {tp.name = "y"}) {
    %zero = arith.constant 0.0 : f32
    %e8 = tensor.empty() : tensor<4x8xf32>
    %rows = linalg.generic {indexing_maps = [#ids, #all], iterator_types = ["parallel", "parallel"]} ins(%x : tensor<4xi64>) outs(%e8 : tensor<4x8xf32>) {
    ^bb0(%id: i64, %o: f32):
      %at = arith.index_cast %id : i64 to index
      %col = linalg.index 1 : index
      %v = tensor.extract %t[%at, %col] : tensor<12x8xf32>
      linalg.yield %v : f32
    } -> tensor<4x8xf32> loc("m.e"("e"))
    %n = linalg.exp ins(%rows : tensor<4x8xf32>) outs(%e8 : tensor<4x8xf32>) -> tensor<4x8xf32> loc("m.n"("exp"))
    %e16 = tensor.empty() : tensor<4x16xf32>
    %i16 = linalg.fill ins(%zero : f32) outs(%e16 : tensor<4x16xf32>) -> tensor<4x16xf32>
    %h = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%n, %u : tensor<4x8xf32>, tensor<16x8xf32>) outs(%i16 : tensor<4x16xf32>) -> tensor<4x16xf32> loc("m.u"("mm"))
    %i8 = linalg.fill ins(%zero : f32) outs(%e8 : tensor<4x8xf32>) -> tensor<4x8xf32>
    %y = linalg.matmul indexing_maps = [#mk, #nk, #mn] ins(%h, %d : tensor<4x16xf32>, tensor<8x16xf32>) outs(%i8 : tensor<4x8xf32>) -> tensor<4x8xf32> loc("m.d"("mm2"))
    return %y : tensor<4x8xf32>
  }
}
)";

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  // Attributes stay in a context for good: a new one now and then.
  static std::unique_ptr<MLIRContext> context;
  static OwningOpRef<ModuleOp> parsed;
  static unsigned runs = 0;
  if (runs++ % 1024 == 0) {
    parsed = nullptr;
    tp::fuzz::renew(context);
    parsed = parseSourceString<ModuleOp>(model, context.get());
    if (!parsed)
      abort();
  }
  tp::fuzz::LocatedErrors errors(*context);
  tp::fuzz::MemoryFile file(data, size);
  OwningOpRef<ModuleOp> module = parsed->clone();
  tp::PartitionOptions options;
  options.plan = file.path();
  PassManager manager(context.get());
  tp::buildPartitionPipeline(manager, options);
  errors.check(succeeded(manager.run(*module)));
  return 0;
}
