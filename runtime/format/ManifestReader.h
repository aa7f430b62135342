//===- ManifestReader.h - what readers of a manifest share ------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_FORMAT_MANIFESTREADER_H
#define TP_RUNTIME_FORMAT_MANIFESTREADER_H

#include "JsonReader.h"
#include "tp/Runtime/Manifest.h"

namespace tp::runtime {

/// Looks a text up in the spellings of an enumeration of `count` values.
template <typename Enum>
Enum readEnum(const JsonReader &reader, int count, const char *what) {
  std::string text = reader.text();
  std::string known;
  for (int i = 0; i < count; ++i) {
    if (text == spelling(Enum(i)))
      return Enum(i);
    known += std::string(i ? " " : "") + spelling(Enum(i));
  }
  reader.error(std::string("unknown ") + what + " '" + text +
               "', expected one of: " + known);
  return Enum(0);
}

DataType readDataType(const JsonReader &reader);

/// Ids are names; everywhere else positions are used.
template <typename Row>
void resolveId(int64_t &reference, const std::vector<Row> &rows,
               const char *what, Status &status) {
  for (size_t i = 0; i < rows.size(); ++i)
    if (rows[i].id == reference) {
      reference = i;
      return;
    }
  if (status.ok())
    status = formatError(std::string("no ") + what + " has the id " +
                         std::to_string(reference));
}

/// A list of axes of `mesh`: "tp", or ["tp", major, size].
AxisParts readAxes(const JsonReader &reader, const Mesh &mesh);
AxisPart readPart(const JsonReader &reader, const Mesh &mesh);

/// A command of `entry`, whose collectives are read.
Command readCommand(const JsonReader &reader, const Manifest &manifest,
                    const Entry &entry, Status &status);

} // namespace tp::runtime

#endif // TP_RUNTIME_FORMAT_MANIFESTREADER_H
