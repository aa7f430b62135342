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

/// A checked artifact with its code in memory. All ranks of a process share
/// one.
class Artifact {
public:
  /// Which parts of an artifact are made ready. To load its code is to run it:
  /// a library has constructors.
  enum class Contents { All, ManifestOnly };

  /// Messages start with the path. A manifest that names a function which the
  /// code lacks is an error here, not at the first step; so is code that this
  /// processor cannot execute, before any of it is loaded.
  static Status open(const std::string &path,
                     std::unique_ptr<Artifact> &artifact,
                     Contents parts = Contents::All);
  ~Artifact();

  const Manifest &manifest() const { return parsed; }
  /// All entries, parts of others behind those that hosts run.
  const std::vector<EntryView> &entries() const { return views; }
  /// How many of them hosts run.
  int64_t numHostEntries() const;
  /// The one that ranks run: the first, unless another was selected.
  const EntryView &entry() const { return views[selected]; }
  /// The position of the entry called `name`; an error names all there are.
  Status findEntry(std::string_view name, int64_t &index) const;
  /// Before there are ranks.
  void select(int64_t index) { selected = index; }
  const std::string &manifestText() const { return text; }
  const std::string &path() const { return file.path(); }
  /// Another number for another content.
  uint64_t identity() const { return file.identity(); }
  /// Raw bytes of dense constants, 64-byte aligned.
  const char *constants() const { return constantBytes.data(); }
  /// Bytes of dense constants.
  int64_t constantsSize() const { return constantBytes.size(); }
  /// A cuda target's kernels as PTX; empty if the artifact has none.
  std::string_view ptx() const { return ptxText; }
  /// Its kernels assembled for one of the target's chips; empty if the
  /// artifact has none for it.
  std::string_view cubin(const std::string &chip) const {
    return file.section("cubin." + chip).value_or(std::string_view());
  }
  /// The kernel of a kernel command of a CPU target whose parts are all there.
  tp_kernel kernel(const EntryView &entry, int64_t command) const {
    return kernels[entry.index][command];
  }

private:
  Artifact() = default;
  Status readManifest();
  Status loadKernels();
  static Status checkCodeTarget(const CpuTarget &target);
  Status loadCode(std::string_view code);
  Status checkDeviceCode(const CudaTarget &target);

  ArtifactFile file;
  Manifest parsed;
  std::vector<EntryView> views;
  std::string text;
  std::string_view constantBytes, ptxText;
  /// Of every entry, by command.
  std::vector<std::vector<tp_kernel>> kernels;
  int64_t selected = 0;
  void *library = nullptr;
  int codeFile = -1;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_ARTIFACT_H
