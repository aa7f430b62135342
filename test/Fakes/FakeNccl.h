//===- FakeNccl.h - what the fake NCCL is made of ---------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_TEST_FAKES_FAKENCCL_H
#define TP_TEST_FAKES_FAKENCCL_H

#include "FakeDevice.h"
#include "tp/Runtime/Cuda/NcclApi.h"
#include "tp/Runtime/DataType.h"
#include <map>

namespace tp::runtime::cuda {
struct ncclComm {
  std::string folder, name;
  int rank = 0, size = 0;
  /// The device that was current when it was made.
  int ordinal = 0;
  int operations = 0, splits = 0;
  /// Messages sent to and received from each rank.
  std::map<int, int> sent, received;
  /// Not all have come yet.
  bool connecting = true;
  ncclResult_t error = ncclSuccess;
  /// Windows registered so far; -1 or the one that not all have come to.
  int windows = 0, openWindow = -1;
  /// A call that goes on in the background says so once.
  int inProgress = 0;
  /// Captured operations in graphs that are still there. The communicator
  /// cannot go before they do.
  int captured = 0;
  /// What it runs on the device ends.
  bool aborted = false;
};
} // namespace tp::runtime::cuda

namespace tp::fake {

/// Processes communicate through files in a folder of the communicator's.
std::string path(const ncclComm &comm, const std::string &name);
void post(const std::string &place, const std::string &bytes);
bool read(const std::string &place, std::string &bytes);
/// Whether the files of this name of all ranks are there.
bool all(const ncclComm &comm, const std::string &name,
         std::vector<std::string> &files);

/// Where the bytes lie in a window of the communicator; -1 where it has none.
/// False: it has one, and they are not in it.
bool placeInWindow(const ncclComm &comm, const void *data, size_t bytes,
                   int64_t &offset);
/// Whether a registered window has come to be on all ranks alike.
ncclResult_t finishWindow(ncclComm &comm);

/// Queues an operation of NCCL: now, or with the others of a group when that
/// ends.
void queueOrGroup(ncclComm *comm, CUstream stream, const std::string &what,
                  const Fault &fault, std::function<Running()> start);
/// Queues operations of communicators, which end when one of these is aborted;
/// a graph that captures them holds the communicators.
void queueOperations(const std::vector<ncclComm *> &comms, CUstream stream,
                     const std::string &what, Fault fault,
                     std::function<Running()> start);

tp::runtime::DataType typeOf(int type);
inline size_t sizeOf(int type) { return tp::runtime::byteSize(typeOf(type)); }

} // namespace tp::fake

#endif // TP_TEST_FAKES_FAKENCCL_H
