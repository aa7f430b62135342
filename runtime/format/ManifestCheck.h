//===- ManifestCheck.h - what checks of a manifest share --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_FORMAT_MANIFESTCHECK_H
#define TP_RUNTIME_FORMAT_MANIFESTCHECK_H

#include "tp/Runtime/Manifest.h"
#include <initializer_list>
#include <set>

namespace tp::runtime {

// Sums of a few such sizes stay far from overflow.
inline constexpr int64_t maxBytes = int64_t(1) << 48;

/// The product of numbers that are at least 0, or nothing above maxBytes.
std::optional<int64_t> product(std::initializer_list<int64_t> factors);

/// Whether `numbers` are 0 to size - 1 in some order.
bool isPermutation(std::vector<int64_t> numbers, size_t size);

/// "[1, 2]"
std::string text(const std::vector<int64_t> &numbers);

/// Checks of the mesh, of one port, of an attention, a call and of commands for
/// devices. Empty, or what is wrong.
std::string checkMesh(const Mesh &mesh);
std::string checkPort(const Port &port, const Mesh &mesh);
std::string checkAttention(const AttentionCommand &command);
std::string checkAttention(const AttentionBackwardCommand &command);
std::string checkCall(const CallCommand &command);
/// Of a gemm, what says which rows and matrices are multiplied.
std::string checkChoosers(const GemmCommand &command);

/// What a command reads; no bytes if they are too many.
struct ReadRange {
  BufferRef buffer;
  std::optional<int64_t> bytes;
  const char *what;
};
/// The same of a tensor that may be written.
struct TypedRange {
  BufferRef buffer;
  std::optional<int64_t> bytes;
  DataType dtype;
  std::string what;
  bool isWritten = false;
};
/// The operands of an attention; not a state that the output takes the place
/// of.
std::vector<TypedRange> attentionRanges(const AttentionCommand &command);
std::vector<TypedRange>
attentionRanges(const AttentionBackwardCommand &command);
/// Of a gemm: its rows, its places, and the table that these choose from.
std::vector<ReadRange> chooserRanges(const GemmCommand &command);
std::string checkCudaTarget(const CudaTarget &target);
std::string checkCudaKernel(const KernelCommand &command);
std::string checkCudaGemm(const GemmCommand &command);
std::string checkCudaCollective(const Collective &collective);

/// Checks which queues run the commands of an entry, and what they wait for.
/// Everything else in the entry has been checked. `where` is the place of it.
Status checkQueues(const EntryView &entry, const std::string &where);

/// Checks what entries share, and their signatures.
Status checkShared(const Manifest &manifest);

/// Keeps the first mistake, with the place where it is.
class Finder {
public:
  Status found() const { return status; }

protected:
  void error(const std::string &message) {
    if (status.ok())
      status = formatError(where.empty() ? message : where + ": " + message);
  }

  void errorIf(const std::string &message) {
    if (!message.empty())
      error(message);
  }

  void checkPorts(const std::vector<Port> &ports, const Mesh &mesh,
                  const char *side) {
    std::string outer = where;
    for (size_t i = 0; i < ports.size() && status.ok(); ++i) {
      where = outer + (outer.empty() ? "" : ", ") + side + " " +
              std::to_string(i) + " '" + ports[i].name + "'";
      errorIf(checkPort(ports[i], mesh));
    }
    where = outer;
  }

  template <typename Rows> void checkIds(const Rows &rows, const char *what) {
    std::set<int64_t> ids;
    for (const auto &row : rows)
      if (!ids.insert(row.id).second)
        error(std::string("two ") + what + " have the id " +
              std::to_string(row.id));
  }

  std::string where;
  Status status;
};

} // namespace tp::runtime

#endif // TP_RUNTIME_FORMAT_MANIFESTCHECK_H
