//===- Manifest.h - what an artifact says about itself ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manifest of docs/artifact.md, read and checked. Whoever holds a Manifest
// may rely on every index, size and offset in it.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_MANIFEST_H
#define TP_RUNTIME_MANIFEST_H

#include "tp/Runtime/DataType.h"
#include "tp/Runtime/Kernel.h"
#include "tp/Runtime/Status.h"
#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tp::runtime {

struct MeshAxis {
  std::string name;
  int64_t size = 1;
};

/// A box of valid elements of one rank, in the source's dimension order.
struct Box {
  std::vector<int64_t> global;
  std::vector<int64_t> local;
  std::vector<int64_t> size;
};

/// An argument or a result of the program.
struct Port {
  std::string name;
  std::string kind;
  std::vector<int64_t> shape;
  DataType dtype = DataType::F32;
  std::string layout;
  std::vector<int64_t> localShape;
  /// Valid elements per rank; elements that no box covers are padding.
  std::vector<std::vector<Box>> boxes;
  std::vector<int64_t> unit;
  std::vector<std::string> sourceKeys;
  /// Dimension i of the buffer is dimension permutation[i] of the source.
  std::vector<int64_t> permutation;
  std::optional<int64_t> aliasOf;
  bool dead = false;

  int64_t localBytes() const;
  /// Strides in elements, by source dimension, of the buffer in memory.
  std::vector<int64_t> localStrides() const;
  /// Whether it is read from weight files by name, rather than given by the
  /// user.
  bool isWeight() const;
};

/// Ranks that reduce or exchange together: every rank is in exactly one list.
struct RankGroup {
  int64_t id = 0;
  std::vector<std::string> axes;
  std::vector<std::vector<int64_t>> ranks;

  int64_t size() const { return ranks.front().size(); }
};

enum class CollectiveKind {
  AllReduce,
  AllGather,
  ReduceScatter,
  AllToAll,
  Permute
};
inline constexpr int numCollectiveKinds = 5;
enum class Reduction { Sum, Avg, Product, Max, Min };

const char *spelling(CollectiveKind kind);
const char *spelling(Reduction reduction);

struct Collective {
  int64_t id = 0;
  CollectiveKind kind = CollectiveKind::AllReduce;
  /// Position in Manifest::groups.
  int64_t group = 0;
  std::vector<std::string> axes;
  DataType dtype = DataType::F32;
  Reduction reduction = Reduction::Sum;
  int64_t payloadBytes = 0;
  int64_t wireBytes = 0;
  int64_t ringBytes = 0;
  int64_t count = 1;
  std::string module, location, reason;

  bool reduces() const {
    return kind == CollectiveKind::AllReduce ||
           kind == CollectiveKind::ReduceScatter;
  }
};

struct Assert {
  int64_t id = 0;
  std::string message, module, location;
};

struct MemoryPlan {
  int64_t arenaBytes = 0;
  int64_t peakLiveBytes = 0;
  int64_t weightsBytes = 0;
  int64_t constantsBytes = 0;
  int64_t scratchBytes = 0;
};

enum class Space { Argument, Result, Arena, Constant };
inline constexpr int numSpaces = 4;

struct BufferRef {
  Space space = Space::Arena;
  /// Argument or result number; 0 in the other spaces.
  int64_t index = 0;
  /// In bytes.
  int64_t offset = 0;
};

/// What a kernel on a device does with one of its buffers.
struct BufferAccess {
  /// From the buffer's offset on; nothing if it is not known.
  std::optional<int64_t> bytes;
  bool reads = true, writes = true;
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
};

struct KernelCommand {
  std::string function;
  std::vector<BufferRef> buffers;
  /// Of a device's target alone.
  Launch launch;
};

struct GemmOperand {
  BufferRef buffer;
  int64_t ld = 0;
  bool transpose = false;
  /// In elements, one per batch dimension.
  std::vector<int64_t> batchStrides;
};

inline constexpr size_t maxBatchDimensions = 8;

/// The last step of a GEMM's epilogue; gelu is the tanh approximation.
enum class Activation { None, Relu, GeluTanh };
inline constexpr int numActivations = 3;
const char *spelling(Activation activation);

/// C[b] = activation(alpha * op(A[b]) op(B[b]) + beta * R[b] + bias),
/// row-major; R is `residual`, else C as it was. Everything after alpha is
/// computed in the accumulation type and rounded once.
struct GemmCommand {
  DataType dtype = DataType::F32;
  /// Operands are f32 and may be rounded to tf32.
  bool tf32 = false;
  /// Of c; else that of a and b.
  DataType cDtype = DataType::F32;
  int64_t m = 0, n = 0;
  /// The largest of all ranks.
  int64_t k = 0;
  /// Where they differ: every rank's.
  std::vector<int64_t> kOfRank;
  double alpha = 1, beta = 0;
  GemmOperand a, b, c;
  std::vector<int64_t> batch;
  /// Of a device's target alone: of c's dtype; it may be c.
  std::optional<GemmOperand> residual;
  /// Of a device's target alone: n elements of c's dtype, one per column.
  std::optional<BufferRef> bias;
  /// Of a device's target alone.
  Activation activation = Activation::None;

  int64_t kOf(int64_t rank) const {
    return kOfRank.empty() ? k : kOfRank[rank];
  }
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
};

/// A tensor [batch, heads, rows, columns] in memory; columns are contiguous.
struct AttentionOperand {
  BufferRef buffer;
  /// In elements, of batch, head and row.
  std::array<int64_t, 3> strides = {0, 0, 0};
};

/// A tensor [batch, heads, queries, keys] that is added to the scores.
struct AttentionBias {
  BufferRef buffer;
  DataType dtype = DataType::F32;
  /// In elements; 0 where it is broadcast.
  std::array<int64_t, 4> strides = {0, 0, 0, 0};
};

/// What a query that sees no key gets.
enum class EmptyRows {
  /// There is none.
  None,
  Zero,
  NaN
};

struct Command;

/// o = softmax over keys j of (scale * q[i] . k[j] + bias[i, j]) times v, for
/// every batch and head, over the keys with lower <= j - i <= upper.
struct AttentionCommand {
  /// Of q, k, v and o in memory.
  DataType dtype = DataType::F32;
  int64_t batch = 1;
  /// Head h reads head h / (heads / kvHeads) of k and v.
  int64_t heads = 1, kvHeads = 1;
  int64_t queries = 1, keys = 1;
  /// Columns of q and k, and of v and o.
  int64_t headSize = 1, valueSize = 1;
  double scale = 1;
  std::optional<int64_t> lower, upper;
  EmptyRows emptyRows = EmptyRows::None;
  /// o overlaps none of the others.
  AttentionOperand q, k, v, o;
  std::optional<AttentionBias> bias;
  /// The least work that gives the result, for listings.
  int64_t flops = 0, bytes = 0;
  /// Kernels and gemms that, in order, do the same. They touch the operands and
  /// parts of the arena that nothing else uses meanwhile.
  std::vector<Command> steps;
};

struct Command {
  std::variant<KernelCommand, GemmCommand, CollectiveCommand, AttentionCommand>
      what;
  std::string module, location;
};

/// Receives a text in pieces. A lambda that captures at most a reference does
/// not allocate.
using TextSink = std::function<void(std::string_view)>;

struct Manifest {
  std::string producer;
  /// "cpu" or "cuda".
  std::string targetKind, targetTriple, targetCpu;
  /// Features that the code of a cpu target may use, by LLVM's names; nothing
  /// if the manifest does not have them.
  std::optional<std::vector<std::string>> targetFeatures;
  /// What a cuda target was compiled for: sm_90, ..., or host.
  std::vector<std::string> chips;
  std::string entry;
  std::vector<MeshAxis> axes;
  std::vector<int64_t> deviceOrder;
  std::vector<Port> arguments;
  std::vector<Port> results;
  std::vector<RankGroup> groups;
  std::vector<Collective> collectives;
  std::vector<Assert> asserts;
  MemoryPlan memory;
  std::vector<Command> program;

  bool isCuda() const { return targetKind == "cuda"; }
  int64_t numRanks() const;
  std::array<int64_t, TP_MAX_MESH_AXES> coordinates(int64_t rank) const;
  std::string meshText() const;
  /// "command 5, all_reduce 'linear_3' of module 'layers.0.wo'"; "the start of
  /// the run" before the first command, "the end of the step" after the last
  std::string describe(int64_t command) const;
  /// The same in pieces, without allocating: for signal handlers.
  void describe(int64_t command, const TextSink &write) const;
  const Assert *findAssert(int64_t id) const;
  /// Visits every command in order with its number; behind an attention its
  /// steps, with the attention's number.
  void forEachCommand(
      const std::function<void(const Command &, int64_t number)> &visit) const;
};

/// Writes a number in decimal, without allocating.
void writeNumber(int64_t number, const TextSink &write);

/// "all_reduce 'linear_3' of module 'layers.0.wo'"; empty parts are left out.
std::string describe(std::string_view what, std::string_view location,
                     std::string_view module);

/// Position of the port called `name`, where that is unique, or `kind:name`.
/// `side` is "argument" or "result", for messages.
Status findPort(const std::vector<Port> &ports, std::string_view name,
                const char *side, int64_t &index);
/// The shortest name that findPort accepts for the port at `index`.
std::string portName(const std::vector<Port> &ports, int64_t index);

/// Reads and checks a manifest. `constantBytes` is the size of the artifact's
/// constants section, that buffers may point into.
Status parseManifest(std::string_view json, int64_t constantBytes,
                     Manifest &manifest);

/// The consistency checks of parseManifest; for ManifestCheck.cpp.
Status checkManifest(const Manifest &manifest, int64_t constantBytes);
/// Checks for programs for devices only; for ManifestCheckCuda.cpp. They return
/// an error, or an empty text.
std::string checkCudaTarget(const Manifest &manifest);
std::string checkCudaKernel(const KernelCommand &command);
std::string checkCudaGemm(const GemmCommand &command);
std::string checkCudaCollective(const Collective &collective);
std::string checkCudaAttention(const AttentionCommand &command);

/// Bytes from the start of an operand's buffer that `command` touches; nothing
/// where they are too many.
std::optional<int64_t> operandBytes(const AttentionCommand &command,
                                    const AttentionOperand &operand);
std::optional<int64_t> biasBytes(const AttentionCommand &command);

} // namespace tp::runtime

#endif // TP_RUNTIME_MANIFEST_H
