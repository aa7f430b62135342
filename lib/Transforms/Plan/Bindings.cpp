//===- Bindings.cpp - what every plan entry bound -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Bindings.h"
#include "mlir/IR/Builders.h"
#include "tp/IR/CauseAttributes.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace tp;

StringRef tp::toString(BindingStatus status) {
  switch (status) {
  case BindingStatus::Bound:
    return "bound";
  case BindingStatus::Overridden:
    return "overridden";
  case BindingStatus::WithoutEffect:
    return "without effect";
  }
  llvm_unreachable("unknown status");
}

ArrayAttr tp::toAttribute(MLIRContext *context, ArrayRef<Binding> bindings,
                          bool withEntryLocations) {
  Builder builder(context);
  SmallVector<Attribute> rows;
  for (const Binding &binding : bindings) {
    SmallVector<Attribute> values;
    for (const BoundValue &value : binding.values)
      values.push_back(builder.getDictionaryAttr({
          builder.getNamedAttr("port", builder.getStringAttr(value.port)),
          builder.getNamedAttr("loc", builder.getStringAttr(value.loc)),
          builder.getNamedAttr("dims",
                               builder.getDenseI64ArrayAttr(value.dims)),
          builder.getNamedAttr("layout",
                               builder.getStringAttr(toString(value.layout))),
      }));
    NamedAttrList row({
        builder.getNamedAttr("entry", builder.getStringAttr(binding.pattern)),
        builder.getNamedAttr("axis", builder.getStringAttr(binding.axis)),
        builder.getNamedAttr("module", builder.getStringAttr(binding.module)),
        builder.getNamedAttr("style", builder.getStringAttr(binding.style)),
        builder.getNamedAttr("status",
                             builder.getStringAttr(toString(binding.status))),
        builder.getNamedAttr("values", builder.getArrayAttr(values)),
    });
    if (std::string at = entryText(binding.entry->getLoc());
        withEntryLocations && !at.empty())
      row.set("at", builder.getStringAttr(at));
    rows.push_back(row.getDictionary(context));
  }
  return builder.getArrayAttr(rows);
}

void tp::printBindings(llvm::raw_ostream &os, ArrayRef<Binding> bindings) {
  Operation *last = nullptr;
  for (const Binding &binding : bindings) {
    if (binding.entry != last)
      os << binding.axis << ": \"" << binding.pattern << "\" " << binding.style
         << "\n";
    last = binding.entry;
    os << "  '" << binding.module << "'";
    if (binding.status != BindingStatus::Bound)
      os << " " << toString(binding.status);
    os << "\n";
    for (const BoundValue &value : binding.values) {
      std::string dims;
      llvm::raw_string_ostream text(dims);
      llvm::interleave(value.dims, text, "x");
      os << llvm::formatv("    {0,-11} {1,-14} {2,-11} {3}\n", value.port, dims,
                          toString(value.layout), value.loc);
    }
  }
}
