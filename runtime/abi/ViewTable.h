//===- ViewTable.h - the views that ranks have given ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_ABI_VIEWTABLE_H
#define TP_RUNTIME_ABI_VIEWTABLE_H

#include "tp/Runtime/Artifact.h"
#include "tp/Runtime/Runtime.h"
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace tp::capi {

/// Of what a port has its values: a result that updates a state is the state,
/// whatever entry computed it last.
struct PortSource {
  tp_port_side side;
  int64_t index;
};
PortSource sourceOf(const runtime::EntryView &entry, tp_port_side side,
                    int64_t index);

/// Which tensors of its ranks the caller of an artifact has views of. A call
/// that takes a port of the artifact and such a view can tell that these are
/// not one tensor: the index is another entry's, as often as not of one shape.
class ViewTable {
public:
  /// Whether it is new.
  bool add(const void *data, const runtime::EntryView &entry, tp_port_side side,
           int64_t index);
  void remove(const std::vector<const void *> &views);
  /// An error if `data` is a view of another tensor than the port.
  runtime::Status check(const void *data, const runtime::EntryView &entry,
                        tp_port_side side, int64_t index) const;

private:
  /// The side, and the number that all entries have the tensor by.
  using Tensor = std::pair<tp_port_side, runtime::TensorNumber>;
  struct View {
    Tensor tensor;
    /// For an error: "argument 'x' of entry 'decode'".
    std::string name;
  };
  static Tensor tensorOf(const runtime::EntryView &entry, tp_port_side side,
                         int64_t index);

  mutable std::mutex lock;
  std::map<const void *, View> views;
};

} // namespace tp::capi

#endif // TP_RUNTIME_ABI_VIEWTABLE_H
