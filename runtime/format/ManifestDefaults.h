//===- ManifestDefaults.h - what a manifest need not say --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The writer leaves out what the reader fills in.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_FORMAT_MANIFESTDEFAULTS_H
#define TP_RUNTIME_FORMAT_MANIFESTDEFAULTS_H

#include "tp/Runtime/Manifest.h"
#include <numeric>

namespace tp::runtime::defaults {

inline constexpr const char *argumentKind = "parameter";
inline constexpr const char *inputKind = "user_input";
inline constexpr const char *resultKind = "user_output";

/// Storage in the source's dimension order.
inline std::vector<int64_t> permutation(size_t rank) {
  std::vector<int64_t> identity(rank);
  std::iota(identity.begin(), identity.end(), 0);
  return identity;
}

/// All shared arguments, then all inputs.
inline std::vector<int64_t> signature(const Manifest &manifest,
                                      const Entry &entry) {
  return permutation(manifest.arguments.size() + entry.inputs.size());
}

} // namespace tp::runtime::defaults

#endif // TP_RUNTIME_FORMAT_MANIFESTDEFAULTS_H
