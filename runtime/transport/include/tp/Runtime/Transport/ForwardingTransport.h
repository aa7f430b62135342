//===- ForwardingTransport.h - one transport on another ---------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_TRANSPORT_FORWARDINGTRANSPORT_H
#define TP_RUNTIME_TRANSPORT_FORWARDINGTRANSPORT_H

#include "tp/Runtime/Transport.h"

namespace tp::runtime {

/// Leaves to another transport all but the collectives; what a derived class
/// does otherwise it overrides.
class ForwardingTransport : public Transport {
public:
  explicit ForwardingTransport(Transport &inner) : inner(inner) {}

  int64_t size() const override { return inner.size(); }
  Status attach(int64_t rank) override { return inner.attach(rank); }
  char *memory(int64_t rank) override { return inner.memory(rank); }
  Status copyMemory(int64_t rank, int64_t offset, int64_t bytes,
                    char *to) override {
    return inner.copyMemory(rank, offset, bytes, to);
  }
  Status deviceMemory(int64_t rank, int64_t bytes, uint64_t layout,
                      uint64_t &address) override {
    return inner.deviceMemory(rank, bytes, layout, address);
  }
  std::string describeMemory() const override { return inner.describeMemory(); }
  Status agreeOnStatus(int64_t rank, int32_t value, double timeoutSeconds,
                       int32_t &agreed) override {
    return inner.agreeOnStatus(rank, value, timeoutSeconds, agreed);
  }
  Status barrier(int64_t rank, double timeoutSeconds) override {
    return inner.barrier(rank, timeoutSeconds);
  }
  void heartbeat(int64_t rank) override { inner.heartbeat(rank); }
  Status leave(int64_t rank, double timeoutSeconds) override {
    return inner.leave(rank, timeoutSeconds);
  }
  void progress(int64_t rank, int64_t command) override {
    inner.progress(rank, command);
  }
  int64_t progress(int64_t rank) const override { return inner.progress(rank); }
  void abort(const Failure &failure) override { inner.abort(failure); }
  bool aborted() const override { return inner.aborted(); }
  std::optional<Failure> failure() const override { return inner.failure(); }
  char *mailbox(int64_t rank) override { return inner.mailbox(rank); }

protected:
  Transport &inner;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_TRANSPORT_FORWARDINGTRANSPORT_H
