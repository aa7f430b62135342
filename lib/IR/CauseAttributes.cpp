//===- CauseAttributes.cpp - why a layout changes -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/IR/CauseAttributes.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/TP.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace tp;
namespace json = llvm::json;

void tp::removeCauses(Operation *root) {
  root->walk([](Operation *op) {
    op->removeAttr(attr::causes);
    op->removeAttr(attr::cause);
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      for (unsigned i = 0; i < function.getNumArguments(); ++i)
        function.removeArgAttr(i, attr::causes);
  });
}

std::string tp::entryText(Location location) {
  auto file = dyn_cast<FileLineColLoc>(location);
  if (!file)
    return "";
  return (file.getFilename().getValue() + ":" + Twine(file.getLine()) + ":" +
          Twine(file.getColumn()))
      .str();
}

std::string tp::shortEntryText(Location location) {
  return llvm::sys::path::filename(entryText(location)).str();
}

json::Value tp::toJSON(Attribute attribute) {
  if (auto text = dyn_cast<StringAttr>(attribute))
    return text.getValue();
  if (auto number = dyn_cast<IntegerAttr>(attribute))
    return number.getInt();
  if (auto list = dyn_cast<ArrayAttr>(attribute)) {
    json::Array array;
    for (Attribute element : list)
      array.push_back(toJSON(element));
    return array;
  }
  if (auto numbers = dyn_cast<DenseI64ArrayAttr>(attribute)) {
    json::Array array;
    for (int64_t number : numbers.asArrayRef())
      array.push_back(number);
    return array;
  }
  if (auto dictionary = dyn_cast<DictionaryAttr>(attribute)) {
    json::Object object;
    for (NamedAttribute entry : dictionary)
      object[entry.getName().getValue()] = toJSON(entry.getValue());
    return object;
  }
  if (auto location = dyn_cast<LocationAttr>(attribute)) {
    SourceName name = sourceNameOf(location);
    return json::Object{{"module", name.module}, {"location", name.location}};
  }
  if (auto placement = dyn_cast<PlacementAttr>(attribute))
    return toString(placement.getValue());
  std::string text;
  llvm::raw_string_ostream(text) << attribute;
  return text;
}
