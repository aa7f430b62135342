//===- Processor.h - what a processor can execute ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// An artifact's code is for one architecture and may use some features of its
// processors. The compiler writes down which; the loader compares them with
// the processor it runs on before it opens the code. Features have LLVM's
// names. Depends on nothing but the C++ library.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_PROCESSOR_H
#define TP_RUNTIME_PROCESSOR_H

#include "tp/Runtime/Status.h"
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace tp::runtime {

/// Of a feature of the x86-64 architecture.
enum class FeatureUse {
  /// A code generator may use it in the code of a kernel.
  Code,
  /// Only an operating system or explicit intrinsics use it.
  Never,
};

/// Nothing for a name that is not known.
std::optional<FeatureUse> featureUse(std::string_view name);

struct Processor {
  /// As in a target triple: x86_64, aarch64.
  std::string architecture;
  /// Those of FeatureUse::Code. Empty on another architecture than x86_64,
  /// whose features are not compared.
  std::set<std::string, std::less<>> features;

  /// The one that this process runs on.
  static Processor current();
};

/// What code is compiled for.
struct CodeTarget {
  std::string triple, cpu;
  /// What the code may use.
  std::vector<std::string> features;
};

/// Fails unless `processor` can execute code for `target`. The error names the
/// missing features and the target to compile for.
Status checkProcessor(const CodeTarget &target, const Processor &processor);

} // namespace tp::runtime

#endif // TP_RUNTIME_PROCESSOR_H
