//===- Commands.h - what a rank does in a step ------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_COMMANDS_H
#define TP_RUNTIME_COMMANDS_H

#include "tp/Runtime/DataType.h"
#include "tp/Runtime/MeshGrid.h"
#include "tp/Runtime/Reduce.h"
#include <array>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace tp::runtime {

enum class CollectiveKind {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Permute
};
inline constexpr int numCollectiveKinds = 5;

const char *spelling(CollectiveKind kind);

/// What a collective of an entry is; its command says on which memory. All
/// ranks of a group run it.
struct Collective {
  /// A number that no other one of the entry has; commands name it.
  int64_t id = 0;
  CollectiveKind kind = CollectiveKind::AllReduce;
  /// Position in Manifest::groups.
  int64_t group = 0;
  DataType dtype = DataType::F32;
  /// Of those that reduce; Sum of the others.
  Reduction reduction = Reduction::Sum;
  /// The larger side of a rank in bytes, without padding and with it.
  int64_t payloadBytes = 0;
  int64_t wireBytes = 0;
  /// That a rank sends on a ring.
  int64_t ringBytes = 0;
  /// How often a step runs it.
  int64_t count = 1;
  std::string module, location, reason;

  bool reduces() const {
    return kind == CollectiveKind::AllReduce ||
           kind == CollectiveKind::ReduceScatter;
  }
  bool operator==(const Collective &) const = default;
};

/// A check inside kernels. One that fails ends the step with its id.
struct Assert {
  /// At least 1.
  int64_t id = 0;
  std::string message, module, location;
  bool operator==(const Assert &) const = default;
};

/// What an entry takes of a rank's memory, in bytes.
struct MemoryPlan {
  int64_t arenaBytes = 0;
  /// The most bytes of the arena that are in use at one time.
  int64_t peakLiveBytes = 0;
  /// Of all weights that are read.
  int64_t weightsBytes = 0;
  int64_t constantsBytes = 0;
  /// Of one kernel, whose threads share it.
  int64_t scratchBytes = 0;
  bool operator==(const MemoryPlan &) const = default;
};

/// `Carried`: what the parts of an entry leave for each other (Entry::carried).
enum class Space { Argument, Result, Arena, Constant, Carried };
inline constexpr int numSpaces = 5;
const char *spelling(Space space);

struct BufferRef {
  Space space = Space::Arena;
  /// Number of the argument, the result or the carried value; 0 in the other
  /// spaces.
  int64_t index = 0;
  /// In bytes.
  int64_t offset = 0;
  bool operator==(const BufferRef &) const = default;
};

/// What a kernel on a device does with one of its buffers.
struct BufferAccess {
  /// From the buffer's offset on; nothing if it is not known.
  std::optional<int64_t> bytes;
  bool reads = true, writes = true;
  bool operator==(const BufferAccess &) const = default;
};

/// How a kernel on a device is launched.
struct Launch {
  std::array<int64_t, 3> grid = {1, 1, 1};
  std::array<int64_t, 3> block = {1, 1, 1};
  /// Dynamic shared memory of a block.
  int64_t sharedBytes = 0;
  /// Work of one launch, for listings.
  int64_t flops = 0, bytes = 0;
  /// One per buffer.
  std::vector<BufferAccess> accesses;
  bool operator==(const Launch &) const = default;
};

struct KernelCommand {
  std::string function;
  std::vector<BufferRef> buffers;
  /// Of a device's target alone.
  Launch launch;
  bool operator==(const KernelCommand &) const = default;
};

struct GemmOperand {
  BufferRef buffer;
  int64_t ld = 0;
  bool transpose = false;
  /// In elements, one per batch dimension.
  std::vector<int64_t> batchStrides;
  bool operator==(const GemmOperand &) const = default;
};

inline constexpr size_t maxBatchDimensions = 8;

/// Numbers of i64: for an index of the batch, which matrix of a table b is. A
/// number below 0 means the first, one above the last the last.
struct GemmLookup {
  BufferRef buffer;
  /// In elements, one per batch dimension.
  std::vector<int64_t> strides;
  /// In elements of b, from one matrix to the next; and how many there are.
  int64_t step = 0, count = 1;
  bool operator==(const GemmLookup &) const = default;
};

/// Booleans along one dimension of a product: where it is computed.
struct GemmMask {
  BufferRef buffer;
  /// In elements, one per batch dimension and that dimension; they may be 0.
  std::vector<int64_t> strides;
  bool operator==(const GemmMask &) const = default;
};

/// The last step of a GEMM's epilogue; gelu is the tanh approximation.
enum class Activation { None, Relu, GeluTanh };
inline constexpr int numActivations = 3;
const char *spelling(Activation activation);

/// The k of a GEMM, or another size, as a function of mesh coordinates: a rank
/// with an uneven shard reads only the first k elements. The others may have
/// any value.
struct ShortenedK {
  /// The axes it depends on.
  AxisParts axes;
  /// The k at every position along them.
  std::vector<int64_t> sizes;

  int64_t of(const Coordinates &rank) const {
    return sizes[positionOf(rank, axes)];
  }
  bool operator==(const ShortenedK &) const = default;
};

/// C[b] = activation(alpha * op(A[b]) op(B[b]) + beta * R[b] + bias),
/// row-major; R is `residual`, else C as it was. Everything after alpha is
/// computed in the accumulation type and rounded once.
struct GemmCommand {
  /// Of a.
  DataType dtype = DataType::F32;
  /// Of b: that of a, but where the CPU multiplies f32 by f16 or bf16.
  DataType bDtype = DataType::F32;
  /// Operands are f32 and may be rounded to tf32.
  bool tf32 = false;
  /// Of c; else that of a and b.
  DataType cDtype = DataType::F32;
  int64_t m = 0, n = 0;
  /// The largest of all ranks.
  int64_t k = 0;
  /// Of a k that differs between ranks.
  std::optional<ShortenedK> shortened;
  double alpha = 1, beta = 0;
  GemmOperand a, b, c;
  std::vector<int64_t> batch;
  /// Of a device's target alone: of c's dtype; it may be c.
  std::optional<GemmOperand> residual;
  /// Of a device's target alone: n elements of c's dtype, one per column.
  std::optional<BufferRef> bias;
  /// Of a device's target alone.
  Activation activation = Activation::None;
  /// Of a processor's target alone: the rows of c that are computed. The others
  /// have any value.
  std::optional<GemmMask> rows;
  /// Of a processor's target alone: the columns of op(a) and rows of op(b) that
  /// are read and multiplied.
  std::optional<GemmMask> terms;
  /// Of a processor's target alone: b's batch strides are 0.
  std::optional<GemmLookup> lookup;

  int64_t kOf(const Coordinates &rank) const {
    return shortened ? shortened->of(rank) : k;
  }
  /// The type in which the products of the elements are computed.
  DataType factorType() const {
    return dtype == bDtype ? dtype : DataType::F32;
  }
  /// Of the largest k.
  double flops() const;
  bool operator==(const GemmCommand &) const = default;
};

struct CollectiveCommand {
  /// Position in Manifest::collectives.
  int64_t collective = 0;
  BufferRef input, output;
  int64_t outer = 1;
  /// In elements.
  int64_t block = 0;
  /// permute: the group position each position receives from.
  std::vector<int64_t> sources;
  bool operator==(const CollectiveCommand &) const = default;
};

/// A dimension of a tensor that a function of the user gets: that of a rank's
/// part, which may differ between ranks.
struct CallSize {
  /// The largest of all ranks.
  int64_t most = 0;
  std::optional<ShortenedK> shortened = std::nullopt;

  int64_t of(const Coordinates &rank) const {
    return shortened ? shortened->of(rank) : most;
  }
  bool operator==(const CallSize &) const = default;
};

/// As many as a tensor of the C ABI may have.
inline constexpr size_t maxCallDimensions = 16;

struct CallTensor {
  BufferRef buffer;
  DataType dtype = DataType::F32;
  std::vector<CallSize> sizes;
  /// In elements, one per dimension.
  std::vector<int64_t> strides;
  bool operator==(const CallTensor &) const = default;
};

/// What a function of the user reads of the op: one of these.
struct CallAttribute {
  std::string name;
  std::variant<std::vector<int64_t>, std::vector<double>, std::string> value;
  bool operator==(const CallAttribute &) const = default;
};

/// Of a device's target alone: an op that a function of a library computes
/// which the user links (CustomOp.h).
struct CallCommand {
  /// As users write it: "my.matmul".
  std::string op;
  /// Outputs overlap no other tensor.
  std::vector<CallTensor> inputs, outputs;
  std::vector<CallAttribute> attributes;
  bool operator==(const CallCommand &) const = default;
};

/// A tensor [batch, heads, rows, columns] in memory; columns are contiguous.
struct AttentionOperand {
  BufferRef buffer;
  /// In elements, of batch, head and row.
  std::array<int64_t, 3> strides = {0, 0, 0};
  bool operator==(const AttentionOperand &) const = default;
};

/// A tensor [batch, heads, queries, keys] that is added to the scores.
struct AttentionBias {
  BufferRef buffer;
  DataType dtype = DataType::F32;
  /// In elements; 0 where it is broadcast.
  std::array<int64_t, 4> strides = {0, 0, 0, 0};
  bool operator==(const AttentionBias &) const = default;
};

/// What a query that sees no key gets.
enum class EmptyRows {
  /// There is none.
  None,
  Zero,
  NaN
};
inline constexpr int numEmptyRows = 3;
const char *spelling(EmptyRows rows);

struct Command;

/// What the weights of an attention are made of: for every batch, head and
/// query i the softmax over keys j of scale * q[i] . k[j] + bias[i, j], over
/// the keys with lower <= j - i <= upper.
struct AttentionWeights {
  /// Of q, k, v and what is made of them in memory.
  DataType dtype = DataType::F32;
  int64_t batch = 1;
  /// Head h reads head h / (heads / kvHeads) of k and v.
  int64_t heads = 1, kvHeads = 1;
  int64_t queries = 1, keys = 1;
  /// Columns of q and k, and of v and what it is multiplied to.
  int64_t headSize = 1, valueSize = 1;
  double scale = 1;
  std::optional<int64_t> lower, upper;
  AttentionOperand q, k, v;
  std::optional<AttentionBias> bias;
  /// The least work that gives what is made of them, for listings.
  int64_t flops = 0, bytes = 0;

  DataType sumType() const {
    return dtype == DataType::F64 ? dtype : DataType::F32;
  }
  bool operator==(const AttentionWeights &) const = default;
};

/// o = the weights times v.
struct AttentionCommand : AttentionWeights {
  EmptyRows emptyRows = EmptyRows::None;
  /// It overlaps none of the others.
  AttentionOperand o;
  /// Of a target cpu: the keys are one chunk of several, and o is a state of
  /// sumType() with two columns more: for every query the sum of exponentials
  /// times values, the largest score, and the sum of the exponentials.
  bool isPartial = false;
  /// The state before this chunk, laid out as o, which it may be; else there
  /// was no chunk before.
  std::optional<BufferRef> onto;
  /// Kernels and gemms that, in order, do the same. They touch the operands and
  /// parts of the arena that nothing else uses meanwhile.
  std::vector<Command> steps;

  DataType outputType() const { return isPartial ? sumType() : dtype; }
  int64_t outputColumns() const { return valueSize + (isPartial ? 2 : 0); }

  bool operator==(const AttentionCommand &) const;
};

/// Of a target cpu: the gradients of an attention whose result o has the
/// gradient `go`. With p[i, j] = exp(score[i, j] - m[i] - log l[i]) and
/// ds[i, j] = p[i, j] * (go[i] . v[j] - delta[i]), for every batch and head
///   gq[i] = scale * sum over j of ds[i, j] * k[j]
///   gk[j] = scale * sum over i of ds[i, j] * q[i]
///   gv[j] = sum over i of p[i, j] * go[i].
struct AttentionBackwardCommand : AttentionWeights {
  /// Of queries, with v's columns.
  AttentionOperand go;
  /// Of sumType(). Two columns: the maximum m of a query's scores, and the
  /// logarithm of l, the sum of their exponentials less m: infinity for a query
  /// whose p and ds are 0, whatever its scores are. One: o[i] . go[i].
  AttentionOperand lse, delta;
  /// With q's, k's and v's columns. gk and gv have as many heads as q. They
  /// overlap none of the others.
  AttentionOperand gq, gk, gv;
  /// Of gq, gk and gv: dtype or sumType().
  DataType gradientType = DataType::F32;
  /// What gq is added to, the gradient that other chunks of keys gave: of
  /// sumType() and laid out as gq, which it may be.
  std::optional<BufferRef> onto;
  bool operator==(const AttentionBackwardCommand &) const = default;

  /// What there is besides q, k, v and the bias, by its name in the manifest;
  /// the last three are written.
  struct Named {
    const char *name;
    AttentionOperand AttentionBackwardCommand::*operand;
  };
  static const std::array<Named, 6> operands;
};

inline constexpr std::array<AttentionBackwardCommand::Named, 6>
    AttentionBackwardCommand::operands = {
        {{"go", &AttentionBackwardCommand::go},
         {"lse", &AttentionBackwardCommand::lse},
         {"delta", &AttentionBackwardCommand::delta},
         {"gq", &AttentionBackwardCommand::gq},
         {"gk", &AttentionBackwardCommand::gk},
         {"gv", &AttentionBackwardCommand::gv}}};

/// Queues of a device run side by side; each runs its commands in order.
enum class Queue { Compute, Communication };
inline constexpr int numQueues = 2;
const char *spelling(Queue queue);

struct Command {
  std::variant<KernelCommand, GemmCommand, CollectiveCommand, AttentionCommand,
               AttentionBackwardCommand, CallCommand>
      what;
  /// For messages and traces; of a collective those of its row.
  std::string module, location;
  /// Of a device's target alone, as the two below.
  Queue queue = Queue::Compute;
  /// The earlier command of the other queue that has ended when this one
  /// starts, and with it all that its queue ran before.
  std::optional<int64_t> waitFor = std::nullopt;
  /// A collective that starts as one with the command before, which is one too.
  bool withPrevious = false;
  bool operator==(const Command &) const = default;
};

inline bool
AttentionCommand::operator==(const AttentionCommand &) const = default;

/// Handles every alternative of a variant by the one lambda that takes it.
template <typename... Handlers> struct Overloaded : Handlers... {
  using Handlers::operator()...;
};
template <typename... Handlers>
Overloaded(Handlers...) -> Overloaded<Handlers...>;

} // namespace tp::runtime

#endif // TP_RUNTIME_COMMANDS_H
