//===- Artifact.h - a loaded program ----------------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_ARTIFACT_H
#define TP_RUNTIME_ARTIFACT_H

#include "tp/Runtime/ArtifactFile.h"
#include "tp/Runtime/Manifest.h"
#include <memory>

namespace tp::runtime {

/// A checked artifact with its code in memory. Immutable: all ranks of a
/// process share one.
class Artifact {
public:
  /// Messages start with the path. A manifest that names a function which the
  /// code lacks is an error here, not at the first step.
  static Status open(const std::string &path,
                     std::unique_ptr<Artifact> &artifact);
  ~Artifact();

  const Manifest &manifest() const { return parsed; }
  const std::string &manifestText() const { return text; }
  const std::string &path() const { return file.path(); }
  /// Another number for another content.
  uint64_t identity() const { return file.identity(); }
  /// Raw bytes of dense constants, 64-byte aligned.
  const char *constants() const { return constantBytes.data(); }
  /// The kernel of a kernel command.
  tp_kernel kernel(int64_t command) const { return kernels[command]; }

private:
  Artifact() = default;
  Status load();
  Status loadCode(std::string_view code);

  ArtifactFile file;
  Manifest parsed;
  std::string text;
  std::string_view constantBytes;
  std::vector<tp_kernel> kernels;
  void *library = nullptr;
  int codeFile = -1;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_ARTIFACT_H
