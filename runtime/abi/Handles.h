//===- Handles.h - what the handles of the C ABI are ------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_ABI_HANDLES_H
#define TP_RUNTIME_ABI_HANDLES_H

#include "ViewTable.h"
#include "tp/Runtime/Rank.h"
#include "tp/Runtime/Runtime.h"
#include "tp/Runtime/Store.h"
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <set>
#include <vector>

struct tp_status {
  tp::runtime::Status status;
};
struct tp_artifact {
  const tp::runtime::EntryView &entry() const {
    return artifact->entries()[index];
  }
  std::shared_ptr<tp::runtime::Artifact> artifact;
  std::shared_ptr<tp::capi::ViewTable> views;
  /// The entry whose ports the handle has.
  int64_t index = 0;
  /// Of the handle that tp_artifact_open made: those of the other entries.
  std::vector<std::unique_ptr<tp_artifact>> others;
  /// What tp_artifact_port_name has returned, by side and index.
  mutable std::mutex namesLock;
  mutable std::map<std::pair<tp_port_side, int64_t>, std::string> names;
};
/// The ranks that this process has on a transport, each once.
struct tp_claims {
  std::mutex lock;
  std::set<int64_t> ranks;
};
struct tp_transport {
  /// What the transport works on, over tcp.
  std::unique_ptr<tp::runtime::Store> store;
  std::unique_ptr<tp::runtime::Transport> transport;
  /// Identity of the artifact whose shared memory and channels it has.
  uint64_t artifact = 0;
  std::shared_ptr<tp_claims> claims = std::make_shared<tp_claims>();
};
struct tp_stream {
  tp::runtime::ExternalStream stream;
};
struct tp_rank {
  ~tp_rank() {
    others.clear();
    if (views)
      views->remove(viewed);
    rank.reset();
    if (!claims)
      return;
    std::lock_guard guard(claims->lock);
    claims->ranks.erase(number);
  }
  std::unique_ptr<tp::runtime::Rank> rank;
  int64_t number = 0;
  /// Of its transport, once the rank's number is among them.
  std::shared_ptr<tp_claims> claims;
  /// Of the handle that tp_rank_create made: those of other entries, by
  /// number. They are freed before the rank whose memory they have.
  std::map<int64_t, std::unique_ptr<tp_rank>> others;
  /// Of all entries.
  const tp::runtime::Artifact *artifact = nullptr;
  /// Not the handle that tp_rank_create made.
  bool isOther = false;
  /// Of its artifact, and what this handle has added to them.
  std::shared_ptr<tp::capi::ViewTable> views;
  std::vector<const void *> viewed;
  /// What the host has set. Entries share it.
  std::shared_ptr<std::set<tp::runtime::TensorNumber>> isSet =
      std::make_shared<std::set<tp::runtime::TensorNumber>>();
  /// A step was submitted, so results have values.
  bool hasResults = false;
};

namespace tp::capi {

using namespace tp::runtime;

/// A status that takes no memory; tp_status_free leaves it alone.
tp_status *outOfMemory();

inline tp_status *toC(Status status) {
  return status.ok() ? nullptr : new tp_status{std::move(status)};
}

/// The C status of what `body` returns. Nothing is thrown through C.
template <typename Body> tp_status *guarded(const Body &body) {
  try {
    return toC(body());
  } catch (const std::bad_alloc &) {
    return outOfMemory();
  }
}

/// An error unless all of these are there.
template <typename... Pointers> Status checkHandles(Pointers... pointers) {
  return (... && (pointers != nullptr)) ? Status()
                                        : invalidArgument("null handle");
}

/// An error for a struct whose caller left struct_size out: none of its members
/// would count.
template <typename Options> Status checkStructSize(const Options *options) {
  if (!options || options->struct_size >= sizeof(options->struct_size))
    return {};
  return invalidArgument("struct_size is " +
                         std::to_string(options->struct_size) +
                         ", expected the sizeof of the struct");
}

/// A member of a structure whose caller may be older than this library: the
/// older structure ends earlier.
template <typename Options, typename Member>
Member given(const Options *options, Member Options::*member,
             Member otherwise) {
  if (!options)
    return otherwise;
  auto *begin = reinterpret_cast<const char *>(options);
  auto *end = reinterpret_cast<const char *>(&(options->*member) + 1);
  return size_t(end - begin) <= options->struct_size ? options->*member
                                                     : otherwise;
}

/// A time-out in seconds of which 0 stands for the default.
inline double secondsOr(double seconds, double otherwise) {
  return seconds == 0 ? otherwise : seconds;
}

inline const std::vector<Port> &portsOf(const EntryView &entry,
                                        tp_port_side side) {
  return side == TP_RESULT ? entry.results : entry.arguments;
}
const char *nameOf(tp_port_side side);
Status checkPort(const EntryView &entry, tp_port_side side, int64_t index);

/// An argument's buffer is zeros until the host sets it, and one that is lost
/// may be half new: to compute with these, or to read them, is a mistake.
Status checkIsSet(const tp_rank &handle, int64_t index);

/// Whether the tensor has the port's dtype, and these sizes, and is somewhere.
/// `what` names the tensor in an error.
Status checkTensor(const tp_tensor *tensor, const Port &port,
                   const std::vector<int64_t> &sizes, const std::string &what);
/// The same, and whether it is in host memory.
Status checkOnHost(const tp_tensor *tensor, const Port &port,
                   const std::vector<int64_t> &sizes, const std::string &what);
/// "argument 'x'".
std::string globalName(tp_port_side side, const Port &port);
/// "the local tensor of argument 'x'".
std::string localName(tp_port_side side, const Port &port);
std::vector<int64_t> stridesOf(const tp_tensor *tensor);
/// Copies the valid elements of a rank's tensor into the global one. The parts
/// of a partial port are refused.
Status assembleOne(const Port &port, const RankSlice &slice, const void *local,
                   const std::vector<int64_t> &localStrides,
                   const tp_tensor &global);
void describeTensor(tp_tensor *tensor, DataType type,
                    const std::vector<int64_t> &sizes,
                    const std::vector<int64_t> &strides, void *data);

} // namespace tp::capi

#endif // TP_RUNTIME_ABI_HANDLES_H
