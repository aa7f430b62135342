//===- ViewTable.cpp - the views that ranks have given --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ViewTable.h"
#include "Handles.h"

using namespace tp::runtime;
using namespace tp::capi;

PortSource tp::capi::sourceOf(const EntryView &entry, tp_port_side side,
                              int64_t index) {
  if (side == TP_RESULT)
    if (std::optional<int64_t> state = entry.stateOf(index))
      return {TP_ARGUMENT, *state};
  return {side, index};
}

ViewTable::Tensor ViewTable::tensorOf(const EntryView &entry, tp_port_side side,
                                      int64_t index) {
  PortSource source = sourceOf(entry, side, index);
  if (source.side == TP_ARGUMENT)
    return {TP_ARGUMENT, entry.tensorOf(source.index)};
  return {TP_RESULT, {entry.index, source.index}};
}

static std::string fullName(const EntryView &entry, tp_port_side side,
                            int64_t index) {
  return globalName(side, portsOf(entry, side)[index]) + " of entry '" +
         entry.name + "'";
}

bool ViewTable::add(const void *data, const EntryView &entry, tp_port_side side,
                    int64_t index) {
  std::lock_guard guard(lock);
  if (views.contains(data))
    return false;
  views[data] = {tensorOf(entry, side, index), fullName(entry, side, index)};
  return true;
}

void ViewTable::remove(const std::vector<const void *> &removed) {
  std::lock_guard guard(lock);
  for (const void *data : removed)
    views.erase(data);
}

Status ViewTable::check(const void *data, const EntryView &entry,
                        tp_port_side side, int64_t index) const {
  std::lock_guard guard(lock);
  auto view = views.find(data);
  if (view == views.end() ||
      view->second.tensor == tensorOf(entry, side, index))
    return {};
  return invalidArgument("expected a view of " + fullName(entry, side, index) +
                         " or memory of the caller, got a rank's view of " +
                         view->second.name +
                         ": the handles of artifact and rank have to be of "
                         "one entry");
}
