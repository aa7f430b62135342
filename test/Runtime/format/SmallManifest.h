//===- SmallManifest.h - manifests to write and read ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_RUNTIME_FORMAT_SMALLMANIFEST_H
#define TP_TEST_RUNTIME_FORMAT_SMALLMANIFEST_H

#include "TestProgram.h"

namespace tp::test {

using namespace tp::runtime;

inline constexpr int64_t constantBytes = 256;

/// The manifest as it was read.
inline Manifest reread(const Manifest &manifest) {
  std::string text = writeManifest(manifest);
  Manifest read;
  EXPECT_OK(parseManifest(text, constantBytes, read));
  EXPECT_TRUE(read == manifest) << text;
  // The text is the same too: nothing is said in two ways.
  EXPECT_EQ(writeManifest(read), text);
  return read;
}

inline Port port(const Mesh &mesh, const std::string &name,
                 const std::string &kind, std::vector<int64_t> shape,
                 DataType dtype = DataType::F32) {
  Port made;
  made.name = name;
  made.kind = kind;
  made.dtype = dtype;
  made.shape = std::move(shape);
  made.layout = replicatedLayout(mesh);
  for (size_t i = 0; i < made.shape.size(); ++i)
    made.permutation.push_back(i);
  if (made.isWeight())
    made.source = defaultSource(made);
  return made;
}

inline Mesh meshOf() {
  Mesh mesh;
  mesh.axes = {{"dp", 2}, {"t\"p\n\u00e9", 4}};
  mesh.deviceOrder = {7, 6, 5, 4, 3, 2, 1, 0};
  return mesh;
}

/// One entry of this name that takes all arguments and inputs.
inline Entry &addEntry(Manifest &manifest, const std::string &name,
                       std::vector<Port> inputs) {
  Entry &entry = manifest.entries.emplace_back();
  entry.name = name;
  entry.inputs = std::move(inputs);
  for (size_t i = 0; i < manifest.arguments.size() + entry.inputs.size(); ++i)
    entry.signature.push_back(i);
  entry.memory = {4096, 4000, 300, constantBytes, 64};
  return entry;
}

inline BufferRef arena(int64_t offset = 0) { return {Space::Arena, 0, offset}; }

inline GemmOperand operand(int64_t offset, int64_t ld) {
  return {arena(offset), ld, false, {}};
}

inline GemmCommand smallGemm(DataType dtype) {
  GemmCommand gemm;
  gemm.dtype = gemm.bDtype = gemm.cDtype = dtype;
  gemm.m = 2;
  gemm.n = 3;
  gemm.k = 4;
  gemm.a = operand(0, 4);
  gemm.b = operand(256, 3);
  gemm.c = operand(512, 3);
  return gemm;
}

inline Manifest cpuManifest() {
  Manifest manifest;
  manifest.producer = "test \\ \"1\"";
  manifest.target = CpuTarget{"x86_64-test", "znver4", {{"avx", "fma"}}};
  manifest.mesh = meshOf();
  manifest.asserts = {{7, "index too large", "m", "l"}, {9, "", "", ""}};
  return manifest;
}

} // namespace tp::test

#endif // TP_TEST_RUNTIME_FORMAT_SMALLMANIFEST_H
