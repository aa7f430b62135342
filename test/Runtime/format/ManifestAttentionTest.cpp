//===- ManifestAttentionTest.cpp - attentions of a manifest ---------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SmallManifest.h"
#include <cmath>

using namespace tp::test;
using namespace tp::runtime;

namespace {

/// Attention to a chunk of keys: its state may be where the one before it was,
/// and nowhere else over it.
TEST(ManifestAttentionTest, ChunksOfKeys) {
  Manifest manifest = cpuManifest();
  Entry &entry = addEntry(manifest, "main", {});
  AttentionCommand attention;
  attention.dtype = DataType::BF16;
  attention.queries = 3;
  attention.keys = 5;
  attention.headSize = 2;
  attention.isPartial = true;
  attention.q = {arena(0), {0, 0, 2}};
  attention.k = {arena(256), {0, 0, 2}};
  attention.v = {arena(512), {0, 0, 1}};
  attention.o = {arena(1024), {0, 0, 3}};
  attention.bias = {arena(2048), DataType::I64, {0, 0, 2, 1}};
  entry.program.push_back({attention, "attn", "sdpa"});
  for (int64_t offset : {1024, 1024 + 36}) {
    attention.onto = arena(offset);
    entry.program.push_back({attention, "", ""});
  }
  reread(manifest);
  auto expectRefused = [&](auto change, const char *message) {
    AttentionCommand changed = attention;
    change(changed);
    entry.program[2].what = changed;
    expectError(checkManifest(manifest, 0),
                std::string("command 2, attention: ") + message);
  };
  expectRefused([](AttentionCommand &c) { c.onto = arena(1024 + 4); },
                "the state overlaps operand o");
  expectRefused([](AttentionCommand &c) { c.onto = arena(1026 + 36); },
                "the state is not aligned to 4-byte elements");
  expectRefused([](AttentionCommand &c) { c.o.strides[2] = 2; },
                "elements of operand o overlap");
  expectRefused([](AttentionCommand &c) { c.isPartial = false; },
                "a state to add to, expected partial");
  expectRefused([](AttentionCommand &c) { c.emptyRows = EmptyRows::Zero; },
                "empty_rows of a partial attention");
}

/// The gradients of an attention overlap nothing, and are a processor's.
TEST(ManifestAttentionTest, Gradients) {
  Manifest manifest = cpuManifest();
  Entry &entry = addEntry(manifest, "main", {});
  AttentionBackwardCommand backward;
  backward.dtype = DataType::F16;
  backward.heads = 2;
  backward.queries = 3;
  backward.keys = 5;
  backward.headSize = 2;
  backward.valueSize = 3;
  backward.scale = 0.5;
  backward.upper = 2;
  backward.q = {arena(0), {0, 6, 2}};
  backward.k = {arena(256), {0, 0, 2}};
  backward.v = {arena(512), {0, 0, 3}};
  backward.bias = {arena(768), DataType::F32, {0, 0, 5, 1}};
  backward.go = {arena(1024), {0, 9, 3}};
  backward.lse = {arena(1280), {0, 6, 2}};
  backward.delta = {arena(1536), {0, 3, 1}};
  backward.gq = {arena(1792), {0, 6, 2}};
  backward.gk = {arena(2048), {0, 10, 2}};
  backward.gv = {arena(2304), {0, 15, 3}};
  backward.gradientType = DataType::F16;
  backward.flops = 7;
  backward.bytes = 5;
  entry.program.push_back({backward, "attn", "sdpa"});
  reread(manifest);
  auto expectRefused = [&](auto change, const char *message) {
    AttentionBackwardCommand changed = backward;
    change(changed);
    entry.program[0].what = changed;
    expectError(
        checkManifest(manifest, 0),
        std::string("command 0, attention_backward 'sdpa' of module 'attn': ") +
            message);
  };
  using Command = AttentionBackwardCommand;
  expectRefused([](Command &c) { c.gk.strides[1] = 8; },
                "elements of operand gk overlap");
  expectRefused([](Command &c) { c.gv.buffer = arena(2048 + 20); },
                "operand gv overlaps operand gk");
  expectRefused([](Command &c) { c.gq.buffer = arena(1280); },
                "operand lse overlaps operand gq");
  expectRefused([](Command &c) { c.delta.buffer = arena(1538); },
                "operand delta is not aligned to 4-byte elements");
  expectRefused([](Command &c) { c.go.buffer = arena(1 << 20); }, "operand go");
  expectRefused([](Command &c) { c.gradientType = DataType::BF16; },
                "gradients have the dtype f16 or f32, got bf16");
  expectRefused([](Command &c) { c.onto = c.gq.buffer; },
                "a sum to add to, expected gradients of f32, got f16");
  expectRefused([](Command &c) { c.scale = INFINITY; },
                "scale is a finite number");
  expectRefused([](Command &c) { c.dtype = DataType::I32; },
                "an attention's dtype is f64, f32, f16 or bf16");
  expectRefused([](Command &c) { c.kvHeads = 3; },
                "2 heads cannot share 3 heads of keys evenly");
}

/// The gradients of queries, summed over chunks of keys, may be where the sum
/// before is, and nowhere else over it.
TEST(ManifestAttentionTest, GradientsOfChunks) {
  Manifest manifest = cpuManifest();
  Entry &entry = addEntry(manifest, "main", {});
  AttentionBackwardCommand backward;
  backward.dtype = DataType::BF16;
  backward.queries = 3;
  backward.keys = 5;
  backward.headSize = 2;
  backward.q = {arena(0), {0, 0, 2}};
  backward.k = {arena(256), {0, 0, 2}};
  backward.v = {arena(512), {0, 0, 1}};
  backward.go = {arena(1024), {0, 0, 1}};
  backward.lse = {arena(1280), {0, 0, 2}};
  backward.delta = {arena(1536), {0, 0, 1}};
  backward.gq = {arena(1792), {0, 0, 2}};
  backward.gk = {arena(2048), {0, 0, 2}};
  backward.gv = {arena(2304), {0, 0, 1}};
  for (int64_t offset : {1792, 1792 + 24}) {
    backward.onto = arena(offset);
    entry.program.push_back({backward, "attn", "sdpa"});
  }
  reread(manifest);
  auto expectRefused = [&](int64_t offset, const char *message) {
    backward.onto = arena(offset);
    entry.program[1].what = backward;
    expectError(checkManifest(manifest, 0),
                std::string("command 1, attention_backward 'sdpa' of module "
                            "'attn': ") +
                    message);
  };
  expectRefused(1792 + 4, "the sum before overlaps operand gq");
  expectRefused(2304, "the sum before overlaps operand gv");
  expectRefused(1794 + 24, "the sum before is not aligned to 4-byte elements");
}

} // namespace
