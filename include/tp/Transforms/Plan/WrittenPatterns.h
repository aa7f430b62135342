//===- WrittenPatterns.h - one pattern for names that agree -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Plans that tp writes have `layers.*.wq` where all layers agree.
//
//===----------------------------------------------------------------------===//

#ifndef TP_TRANSFORMS_PLAN_WRITTENPATTERNS_H
#define TP_TRANSFORMS_PLAN_WRITTENPATTERNS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace tp {

/// A name, what is written of it, and the number of its entry.
struct WrittenName {
  std::string name, text;
  size_t number = 0;
};

/// The names in their order, with `*` for the numbers in them where everything
/// that the pattern matches has the same text. Each comes with the number of
/// the first entry that it stands for.
std::vector<std::pair<std::string, size_t>>
asPatterns(llvm::ArrayRef<WrittenName> names,
           llvm::function_ref<
               llvm::SmallVector<llvm::StringRef>(llvm::StringRef pattern)>
               matching);

} // namespace tp

#endif // TP_TRANSFORMS_PLAN_WRITTENPATTERNS_H
