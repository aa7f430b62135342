//===- ArtifactFile.h - the container of a compiled program -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads and writes the one-file artifact (docs/artifact.md): named sections
// behind a checked table. Depends on nothing but the C++ library, so that the
// compiler can use it too.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_ARTIFACTFILE_H
#define TP_RUNTIME_ARTIFACTFILE_H

#include "tp/Runtime/MappedFile.h"
#include "tp/Runtime/Status.h"
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tp::runtime {

inline constexpr uint32_t artifactVersion = 1;
inline constexpr uint64_t artifactAlignment = 64;
inline constexpr size_t artifactMaxSectionName = 16;

/// FNV-1a, 64 bits, of `bytes`.
uint64_t checksum(std::string_view bytes);

/// Collects sections and writes them as one artifact.
class ArtifactWriter {
public:
  /// Names are 1 to 16 bytes without a zero and unique; `write` and
  /// `serialize` report a name that is not.
  void addSection(std::string name, std::string bytes);

  /// The whole file as bytes.
  Status serialize(std::string &file) const;

  /// Writes the whole file to `path` (tp/Runtime/OutputFile.h).
  Status write(const std::string &path) const;

private:
  struct Section {
    std::string name;
    std::string bytes;
  };
  std::vector<Section> sections;
};

/// An artifact whose magic, version, size, section bounds, overlap and
/// checksums have all been checked. It is a copy in memory: later writes to the
/// file do not change it.
class ArtifactFile {
public:
  /// Reads and checks the file at `path`. Messages start with the path.
  static Status open(const std::string &path, ArtifactFile &artifact);

  /// The bytes of a section, 64-byte aligned in memory; nothing if the file
  /// has no such section. They live as long as this object.
  std::optional<std::string_view> section(std::string_view name) const;

  const std::string &path() const { return file.path(); }
  /// A checksum of the header, which holds those of all sections.
  uint64_t identity() const { return headerChecksum; }

private:
  Status readTable();

  struct Section {
    std::string name;
    uint64_t offset;
    uint64_t size;
  };
  MappedFile file;
  std::vector<Section> sections;
  uint64_t headerChecksum = 0;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_ARTIFACTFILE_H
