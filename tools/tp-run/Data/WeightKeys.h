//===- WeightKeys.h - the names of weights in their files -------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TOOLS_TP_RUN_DATA_WEIGHTKEYS_H
#define TP_TOOLS_TP_RUN_DATA_WEIGHTKEYS_H

#include "tp/Runtime/Port.h"
#include "tp/Runtime/SafeTensors.h"
#include <set>
#include <string>
#include <vector>

namespace tp::run {

/// Which tensor of the weight files a weight is, by its keys and
/// --weights-prefix, and which tensors no weight is.
class WeightKeys {
public:
  WeightKeys(const runtime::WeightFiles &files, std::string prefix)
      : files(files), prefix(std::move(prefix)) {}

  /// Of the keys that the manifest has, those that the files may have it under.
  std::vector<std::string> inFiles(const runtime::Port &port,
                                   const std::vector<std::string> &keys);
  /// What to write where the files have none of `keys`; may be empty.
  std::string hint(const runtime::Port &port,
                   const std::vector<std::string> &keys) const;
  /// Several tensors that the files lack are one mistake, and so one message.
  /// A single one passes: its own message says more.
  runtime::Status
  checkAllThere(const std::vector<const runtime::Port *> &weights);
  /// Counts the tensors of a weight as asked for.
  void use(const runtime::Port &port);
  /// A sentence on the tensors that were not asked for; empty if there are
  /// none.
  std::string describeUnused() const;

private:
  std::string prefixed(const runtime::Port &port, const std::string &key) const;

  const runtime::WeightFiles &files;
  std::string prefix;
  std::set<std::string> used;
};

} // namespace tp::run

#endif // TP_TOOLS_TP_RUN_DATA_WEIGHTKEYS_H
