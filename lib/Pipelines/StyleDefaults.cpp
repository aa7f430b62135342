//===- StyleDefaults.cpp - layouts that no option states ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StyleDefaults.h"
#include "tp/IR/PlanStyle.h"

using namespace mlir;
using namespace tp;
namespace json = llvm::json;

/// The option of an entry that would state the layout at a port, if the entry
/// does not have it. The styles for inputs and outputs have no defaults.
static StringRef absentOption(ParallelizeOp entry, StringRef port) {
  const StyleName *style = lookupStyle(entry.getStyle());
  if (!style)
    return "";
  StringRef option;
  if (style->kind == StyleKind::Colwise || style->kind == StyleKind::Rowwise)
    option = port == "input"    ? "input_layouts"
             : port == "output" ? "output_layouts"
                                : "";
  else if (style->kind == StyleKind::SequenceParallel &&
           (port.starts_with("input") || port.starts_with("output")))
    option = "sequence_dim";
  return option.empty() || entry.getOptions().get(option) ? "" : option;
}

void tp::markDefaults(json::Object &report, const PlanTrials &trials) {
  for (json::Value &collective : *report.getArray("collectives")) {
    json::Object *cause = collective.getAsObject()->getObject("cause");
    json::Array *changes = cause ? cause->getArray("changes") : nullptr;
    if (!changes)
      continue;
    for (json::Value &change : *changes) {
      json::Array *pins = change.getAsObject()->getArray("pins");
      if (!pins)
        continue;
      for (json::Value &value : *pins) {
        json::Object &pin = *value.getAsObject();
        ParallelizeOp entry =
            trials.entryAt(pin.getString("entry").value_or(""));
        if (!entry)
          continue;
        StringRef option =
            absentOption(entry, pin.getString("what").value_or(""));
        if (!option.empty())
          pin["default"] =
              json::Object{{"style", entry.getStyle()}, {"option", option}};
      }
    }
  }
}
