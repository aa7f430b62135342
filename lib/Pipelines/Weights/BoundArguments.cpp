//===- BoundArguments.cpp - arguments that plan entries name --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BoundArguments.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace tp;

BoundArguments::BoundArguments(ArrayAttr bindings) {
  for (auto row : bindings.getAsRange<DictionaryAttr>())
    for (auto value :
         row.getAs<ArrayAttr>("values").getAsRange<DictionaryAttr>()) {
      StringRef port = value.getAs<StringAttr>("port").getValue();
      if (llvm::is_contained({"weight", "bias", "parameter", "argument"}, port))
        names.insert(value.getAs<StringAttr>("loc").getValue());
    }
}
