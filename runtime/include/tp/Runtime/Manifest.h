//===- Manifest.h - what an artifact says about itself ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The manifest of docs/artifact.md, version 2. The compiler fills it in and
// writes it, reports are made from it, and runtimes read it. All kinds are
// enumerations and variants, so that a reader handles every one.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_MANIFEST_H
#define TP_RUNTIME_MANIFEST_H

#include "tp/Runtime/Commands.h"
#include "tp/Runtime/Port.h"
#include <functional>

namespace tp::runtime {

/// Code for processors. What it needs is checked before it is loaded.
struct CpuTarget {
  /// LLVM's names.
  std::string triple, cpu;
  /// All features that the code may use; nothing if they are not known.
  std::optional<std::vector<std::string>> features;
  bool operator==(const CpuTarget &) const = default;
};

/// Code for NVIDIA devices.
struct CudaTarget {
  /// What the program was compiled for: sm_90, ..., or host.
  std::vector<std::string> chips;
  bool operator==(const CudaTarget &) const = default;
};

using Target = std::variant<CpuTarget, CudaTarget>;
/// "cpu" or "cuda".
const char *spelling(const Target &target);

/// Ranks that reduce or exchange together: those that differ along these axes
/// alone. Every rank is in exactly one group.
struct RankGroup {
  int64_t id = 0;
  /// Major first: the order of the ranks in a group.
  AxisParts axes;

  int64_t size() const { return sizeOf(axes); }
  bool operator==(const RankGroup &) const = default;
};

/// Memory that lives from one part of an entry to the next.
struct CarriedValue {
  std::string name;
  int64_t bytes = 0;
  bool operator==(const CarriedValue &) const = default;
};

/// What an entry that is a part of another one belongs to.
struct EntryPart {
  /// A position in Manifest::entries, of an entry that is no part.
  int64_t of = 0;
  /// How often the part runs in a step of that entry.
  int64_t times = 1;
  bool operator==(const EntryPart &) const = default;
};

/// A function of the model: what it takes, runs and gives. Every rank runs the
/// same list of commands in order.
struct Entry {
  std::string name;
  /// Arguments that are not weights. They belong to this entry only.
  std::vector<Port> inputs;
  /// What argument i of the entry is: a position in Manifest::arguments, or, by
  /// its length more, one in `inputs`. Every input once; a weight that the
  /// entry does not take is left out.
  std::vector<int64_t> signature;
  std::vector<Port> results;
  std::vector<Collective> collectives;
  MemoryPlan memory;
  std::vector<Command> program;
  /// Of a device's target alone: the command of the queue Communication for
  /// which the end of the step waits.
  std::optional<int64_t> endWaitsFor;
  /// Of target cpu, on an entry or one of its parts: before this command, or
  /// behind the last, ranks agree on the checks. All checks of a step come
  /// before, and all that writes arguments comes behind.
  std::optional<int64_t> agreeAt;
  /// Of a part: a loop's iteration, or what comes before a loop. A step of an
  /// entry runs its parts in their order, then its own program. Hosts do not
  /// run parts, which have no results.
  std::optional<EntryPart> part;
  /// Of an entry with parts.
  std::vector<CarriedValue> carried;

  bool operator==(const Entry &) const = default;
};

/// Receives a text in pieces. A lambda that captures at most a reference does
/// not allocate.
using TextSink = std::function<void(std::string_view)>;

struct Manifest {
  static constexpr int64_t version = 2;

  std::string producer;
  Target target;
  Mesh mesh;
  /// Weights: parameters, buffers, constants and optimizer states; and inputs
  /// that several entries take and one updates. Each is one tensor, whichever
  /// entries take it.
  std::vector<Port> arguments;
  /// Positions in `arguments`, in groups: the buffers of a group lie in one
  /// memory, one behind the other without gaps. Commands read all of it as the
  /// buffer of the first.
  std::vector<std::vector<int64_t>> joined;
  std::vector<RankGroup> groups;
  std::vector<Assert> asserts;
  /// At least one, of different names.
  std::vector<Entry> entries;

  bool isCuda() const { return std::holds_alternative<CudaTarget>(target); }
  /// The positions of the entry's parts, in order.
  std::vector<int64_t> partsOf(int64_t entry) const;
  bool operator==(const Manifest &) const = default;
};

/// Where the buffer of an argument lies.
struct ArgumentPlace {
  /// The argument that the memory starts with: itself, or the first of those
  /// that it is joined with.
  int64_t first = 0;
  /// In bytes, from the start of that memory.
  int64_t offset = 0;
  /// Of the memory, if this argument is the first; else 0.
  int64_t memoryBytes = 0;
};

/// Which tensor of a rank an argument is: the same number for the entries that
/// share it.
using TensorNumber = std::pair<int64_t, int64_t>;

/// A rank may run any entry, so where it is counts over all of them: this many
/// commands of each, behind those of no entry.
inline constexpr int64_t commandsPerEntry = int64_t(1) << 32;
/// The number of the command in its entry.
inline int64_t commandOf(int64_t progress) {
  return progress < 0 ? progress : progress % commandsPerEntry;
}

/// One entry with the tables that it shares with others, as a rank runs it. The
/// manifest, of which `entry` is a part, must outlive it.
class EntryView {
public:
  EntryView(const Manifest &manifest, const Entry &entry);

  const Manifest &manifest;
  const Mesh &mesh;
  /// Its position in Manifest::entries.
  const int64_t index;
  const std::string &name;
  const std::vector<int64_t> &signature;
  /// In the order of the entry's signature.
  const std::vector<Port> arguments;
  /// Of every argument.
  const std::vector<ArgumentPlace> places;
  const std::vector<Port> &results;
  const std::vector<RankGroup> &groups;
  const std::vector<Collective> &collectives;
  const MemoryPlan &memory;
  const std::vector<Command> &program;
  const std::optional<int64_t> &endWaitsFor;
  const std::optional<int64_t> &agreeAt;
  const std::optional<EntryPart> &part;
  /// Of the entry that this one is or is a part of.
  const std::vector<CarriedValue> &carried;

  bool isCuda() const { return manifest.isCuda(); }
  int64_t numRanks() const { return mesh.numRanks(); }
  Coordinates coordinates(int64_t rank) const { return mesh.coordinates(rank); }
  TensorNumber tensorOf(int64_t argument) const;
  /// The argument that the result is the next value of. None where the result
  /// updates nothing, or an argument without a buffer.
  std::optional<int64_t> stateOf(int64_t result) const;
  /// What a rank that is at the command reports (Transport::progress).
  int64_t progressAt(int64_t command) const {
    return (index + 1) * commandsPerEntry + command;
  }
  /// "command 5, all_reduce 'linear_3' of module 'layers.0.wo'"; "the start of
  /// the run" before the first command, "the end of the step" after the last.
  /// Of a reported command, where there are several entries, with its entry.
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

/// The manifest as JSON: defaults are left out, and every row of a list is one
/// line. Reading it gives a manifest equal to `manifest`, if checkManifest
/// accepts that.
std::string writeManifest(const Manifest &manifest);

/// Reads and checks a manifest: every index, size and offset in it is valid.
/// `constantBytes` is the size of the artifact's constants section, which
/// buffers may point into. A field that this version does not know is an error,
/// because it may change the meaning of others.
Status parseManifest(std::string_view json, int64_t constantBytes,
                     Manifest &manifest);

/// Checks what docs/artifact.md lets readers rely on. The error names the
/// place.
Status checkManifest(const Manifest &manifest, int64_t constantBytes);

/// Bytes from the start of an operand's buffer that `command` touches; nothing
/// where they are too many.
std::optional<int64_t> operandBytes(const AttentionCommand &command,
                                    const AttentionOperand &operand);
std::optional<int64_t> operandBytes(const AttentionBackwardCommand &command,
                                    const AttentionOperand &operand);
std::optional<int64_t> biasBytes(const AttentionWeights &weights);
/// The same of a tensor on the rank with the largest part.
std::optional<int64_t> tensorBytes(const CallTensor &tensor);

} // namespace tp::runtime

#endif // TP_RUNTIME_MANIFEST_H
