//===- ManifestCallTest.cpp - calls of functions of users -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TestProgram.h"
#include <cmath>

using namespace tp::test;
using namespace tp::runtime;

namespace {

BufferRef arena(int64_t offset) { return {Space::Arena, 0, offset}; }

/// A function of the user on devices: sizes that differ between ranks, and
/// numbers that JSON has not.
TEST(ManifestCallTest, WhatIsWrittenIsRead) {
  Manifest manifest;
  manifest.producer = "test";
  manifest.target = CudaTarget{{"sm_90"}};
  manifest.mesh.axes = {{"dp", 2}, {"tp", 4}};
  Entry &entry = manifest.entries.emplace_back();
  entry.name = "main";
  entry.memory.arenaBytes = 4096;
  CallCommand call;
  call.op = "my.op";
  ShortenedK uneven{{manifest.mesh.whole(1)}, {}};
  for (int64_t i = 0; i < sizeOf(uneven.axes); ++i)
    uneven.sizes.push_back(i == 0 ? 3 : 0);
  call.inputs = {{arena(0), DataType::F32, {{2}, {3, uneven}}, {3, 1}},
                 {arena(256), DataType::BF16, {}, {}}};
  call.outputs = {{arena(512), DataType::I64, {{4}}, {2}}};
  call.attributes = {
      {"a", std::vector<int64_t>{INT64_MIN, INT64_MAX}},
      {"b", std::vector<double>{0.1, -INFINITY, INFINITY, -0.0, 5e-324}},
      {"c", std::string("text")},
      {"d", std::vector<double>{}}};
  entry.program.push_back({call, "m", "here"});
  std::string text = writeManifest(manifest);
  Manifest read;
  ASSERT_OK(parseManifest(text, 0, read));
  EXPECT_TRUE(read == manifest) << text;
  EXPECT_EQ(writeManifest(read), text);
  EXPECT_EQ(call.inputs[0].sizes[1].of({0, 0}), 3);
  EXPECT_EQ(call.inputs[0].sizes[1].of({0, 1}), 0);
  auto expectRefused = [&](auto change, const char *message) {
    CallCommand changed = call;
    change(changed);
    entry.program[0].what = changed;
    expectError(checkManifest(manifest, 0), message);
  };
  expectRefused([](CallCommand &c) { c.op = ""; },
                "a call needs the name of an op");
  expectRefused([](CallCommand &c) { c.outputs.clear(); },
                "a call needs an output");
  expectRefused([](CallCommand &c) { c.inputs[0].strides.pop_back(); },
                "input 0 has 1 strides for 2 dimensions");
  expectRefused([](CallCommand &c) { c.outputs[0].buffer.offset = 516; },
                "output 0 is not aligned to 8-byte elements");
  expectRefused(
      [](CallCommand &c) { c.inputs[0].sizes[1].shortened->sizes.pop_back(); },
      "input 0 has a size for");
  expectRefused([](CallCommand &c) { c.inputs[1].sizes.resize(17); },
                "input 1 has 17 dimensions, expected at most 16");
  expectRefused([](CallCommand &c) { c.outputs[0].buffer.offset = 1 << 30; },
                "a tensor needs 56 bytes at offset");
  expectRefused([](CallCommand &c) { c.outputs[0].buffer.offset = 16; },
                "an output overlaps another tensor");
  manifest.target = CpuTarget();
  entry.program[0].what = call;
  expectError(checkManifest(manifest, 0), "a call is of a cuda target alone");
}

} // namespace
