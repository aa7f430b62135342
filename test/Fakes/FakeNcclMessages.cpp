//===- FakeNcclMessages.cpp - messages and groups of the fake NCCL --------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeNccl.h"
#include <algorithm>
#include <cstring>
#include <filesystem>
#include <utility>

using namespace tp::fake;
using namespace tp::runtime;

namespace {

struct Message {
  bool sends;
  ncclComm *comm;
  int peer;
  size_t bytes;
  char *data;
  CUstream stream;
};
/// A collective of a group.
struct Grouped {
  ncclComm *comm;
  CUstream stream;
  std::string what;
  Fault fault;
  std::function<Running()> start;
};
thread_local int groups = 0;
thread_local std::vector<Message> messages;
thread_local std::vector<Grouped> collectives;

ncclResult_t addMessage(const char *function, Message message) {
  std::lock_guard lock(mutex());
  Fault fault = faultOf(function);
  if (fault.kind == Fault::Code)
    return fault.code;
  if (!groups || message.peer < 0 || message.peer >= message.comm->size)
    return ncclInvalidUsage;
  if (!isMemory(CUdeviceptr(message.data), message.bytes)) {
    complain(std::string(function) + " leaves its memory");
    return ncclInvalidArgument;
  }
  messages.push_back(message);
  return ncclSuccess;
}

std::string messageFile(const ncclComm &comm, int from, int to, int number) {
  return path(comm, "message-" + std::to_string(from) + "-" +
                        std::to_string(to) + "-" + std::to_string(number));
}

/// All messages have been sent, then received.
Running startMessages(const std::vector<Message> &group) {
  std::vector<int> numbers;
  for (const Message &m : group) {
    int number = m.sends ? m.comm->sent[m.peer]++ : m.comm->received[m.peer]++;
    numbers.push_back(number);
    if (m.sends)
      post(messageFile(*m.comm, m.comm->rank, m.peer, number),
           std::string(m.data, m.bytes));
  }
  return [group, numbers] {
    std::vector<std::string> bytes(group.size());
    for (size_t i = 0; i < group.size(); ++i) {
      const Message &m = group[i];
      std::string place =
          messageFile(*m.comm, m.peer, m.comm->rank, numbers[i]);
      if (!m.sends && !read(place, bytes[i]))
        return false;
      if (!m.sends && bytes[i].size() != m.bytes) {
        complain("ncclRecv of " + std::to_string(m.bytes) +
                 " bytes, sent were " + std::to_string(bytes[i].size()));
        m.comm->error = ncclInvalidUsage;
        return false;
      }
    }
    for (size_t i = 0; i < group.size(); ++i) {
      const Message &m = group[i];
      if (m.sends)
        continue;
      std::memcpy(m.data, bytes[i].data(), m.bytes);
      std::error_code ignored;
      std::filesystem::remove(
          messageFile(*m.comm, m.peer, m.comm->rank, numbers[i]), ignored);
    }
    return true;
  };
}

} // namespace

void tp::fake::queueOrGroup(ncclComm *comm, CUstream stream,
                            const std::string &what, const Fault &fault,
                            std::function<Running()> start) {
  if (groups)
    collectives.push_back({comm, stream, what, fault, std::move(start)});
  else
    queueOperations({comm}, stream, what, fault, std::move(start));
}

void tp::fake::queueOperations(const std::vector<ncclComm *> &comms,
                               CUstream stream, const std::string &what,
                               Fault fault, std::function<Running()> start) {
  if (Graph *graph = captureOf(stream))
    for (ncclComm *comm : comms) {
      ++comm->captured;
      graph->held.emplace_back(comm, [](ncclComm *of) { --of->captured; });
    }
  bool hangs = fault.kind == Fault::Hang;
  if (hangs)
    fault = {};
  queue(stream, what, fault, [=]() -> Running {
    Running running = hangs ? Running([] { return false; }) : start();
    return [comms, running] {
      return std::any_of(comms.begin(), comms.end(),
                         [](ncclComm *comm) { return comm->aborted; }) ||
             running();
    };
  });
}

extern "C" {

TP_FAKE ncclResult_t ncclSend(const void *from, size_t count,
                              ncclDataType_t type, int peer, ncclComm_t comm,
                              CUstream stream) {
  return addMessage("ncclSend", {true, comm, peer, count * sizeOf(type),
                                 (char *)from, stream});
}
TP_FAKE ncclResult_t ncclRecv(void *to, size_t count, ncclDataType_t type,
                              int peer, ncclComm_t comm, CUstream stream) {
  return addMessage("ncclRecv", {false, comm, peer, count * sizeOf(type),
                                 (char *)to, stream});
}
TP_FAKE ncclResult_t ncclGroupStart() {
  ++groups;
  return ncclSuccess;
}
TP_FAKE ncclResult_t ncclGroupEnd() {
  std::lock_guard lock(mutex());
  Fault fault = faultOf("ncclGroupEnd");
  if (fault.kind == Fault::Code)
    return fault.code;
  if (--groups || (messages.empty() && collectives.empty()))
    return ncclSuccess;
  std::vector<Message> sent = std::exchange(messages, {});
  std::vector<Grouped> group = std::exchange(collectives, {});
  CUstream stream = sent.empty() ? group[0].stream : sent[0].stream;
  std::string what = "ncclGroupEnd";
  std::vector<ncclComm *> comms;
  for (const Message &message : sent)
    comms.push_back(message.comm);
  for (const Grouped &one : group) {
    comms.push_back(one.comm);
    if (one.stream != stream) {
      complain("a group is in more than one stream");
      return ncclInvalidUsage;
    }
    if (one.fault.kind != Fault::None)
      fault = one.fault;
    what += " " + one.what;
  }
  queueOperations(comms, stream, what, fault, [sent, group]() -> Running {
    // All start before any has to end, as in one kernel.
    std::vector<Running> open;
    if (!sent.empty())
      open.push_back(startMessages(sent));
    for (const Grouped &one : group)
      open.push_back(one.start());
    return [open]() mutable {
      std::erase_if(open, [](const Running &running) { return running(); });
      return open.empty();
    };
  });
  return ncclSuccess;
}

} // extern "C"
