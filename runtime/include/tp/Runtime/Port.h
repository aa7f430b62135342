//===- Port.h - arguments and results of a program --------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_PORT_H
#define TP_RUNTIME_PORT_H

#include "tp/Runtime/DataType.h"
#include "tp/Runtime/MeshGrid.h"
#include "tp/Runtime/Reduce.h"
#include "tp/Runtime/Status.h"
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tp::runtime {

/// The part of an axis changes nothing: all its ranks hold the same.
struct Replicated {
  bool operator==(const Replicated &) const = default;
};

/// The part of an axis cuts a dimension into chunks of
/// ceil(size / unit / ranks) * unit elements, of which trailing ranks hold less
/// or nothing. Of parts that cut the same dimension the earlier one is the
/// major one; they agree on unit and segments.
struct Sharded {
  int64_t dim = 0;
  /// In elements.
  int64_t unit = 1;
  /// Sizes of consecutive pieces of the dimension, each of which is cut by
  /// itself; empty for one piece.
  std::vector<int64_t> segments = {};
  bool operator==(const Sharded &) const = default;
};

/// The ranks along the part of an axis have numbers that the reduction combines
/// to those of the array. All parts that are partial have one reduction.
struct Partial {
  Reduction reduction = Reduction::Sum;
  bool operator==(const Partial &) const = default;
};

struct AxisPlacement {
  AxisPart part;
  std::variant<Replicated, Sharded, Partial> what;
  bool operator==(const AxisPlacement &) const = default;
};

/// How a global array is cut: every part of every axis once.
using PortLayout = std::vector<AxisPlacement>;

/// "[replicate, shard<0>]" in the order of the mesh, or with named axes where
/// the order or sub-axes need it: "["tp" = shard<0>, "dp" = shard<0>]".
std::string layoutText(const PortLayout &layout, const Mesh &mesh);
/// The parts of axes that are partial, in the layout's order.
AxisParts partialParts(const PortLayout &layout);
/// How the ranks' numbers combine; nothing where no part is partial.
std::optional<Reduction> partialReduction(const PortLayout &layout);
/// Every whole axis in the order of the mesh, replicated.
PortLayout replicatedLayout(const Mesh &mesh);

/// A box of valid elements of one rank, in the source's dimension order.
struct Box {
  std::vector<int64_t> global;
  std::vector<int64_t> local;
  std::vector<int64_t> size;
  bool operator==(const Box &) const = default;
};

/// Which elements of the global array the buffer of one rank holds, and where.
struct RankSlice {
  DataType dtype = DataType::F32;
  /// Of the global array.
  std::vector<int64_t> shape;
  std::vector<int64_t> localShape;
  /// Dimension i of the buffer is dimension permutation[i] of the source.
  std::vector<int64_t> permutation;
  /// Valid elements; elements that no box covers are padding.
  std::vector<Box> boxes;
  /// The rank's valid elements are this number, whatever the array holds:
  /// another rank has the array's.
  std::optional<std::array<char, 8>> identity = std::nullopt;

  int64_t localBytes() const;
  /// Strides in elements, by source dimension, of the buffer in memory.
  std::vector<int64_t> localStrides() const;
};

/// What an argument is for; told by the word of its kind.
enum class PortRole { Input, Parameter, Buffer, Constant, OptimizerState };
/// `parameter`, `buffer`, `constant_tensor`, `opt_*`; any other is an input.
PortRole roleOf(std::string_view kind);

/// A tensor of a weight file that is a part of an argument.
struct SourceSegment {
  /// Names of which the files must have one.
  std::vector<std::string> sourceKeys;
  std::vector<int64_t> shape;
  /// Where in the argument its first element stands.
  std::vector<int64_t> offset;
  bool operator==(const SourceSegment &) const = default;
};

/// One tensor of a weight file: names of which the files must have one.
struct WholeSource {
  std::vector<std::string> sourceKeys;
  bool operator==(const WholeSource &) const = default;
};

/// Several tensors that together are the argument, each element once.
struct JoinedSource {
  std::vector<SourceSegment> segments;
  bool operator==(const JoinedSource &) const = default;
};

/// Where the value of a weight comes from.
using WeightSource = std::variant<WholeSource, JoinedSource>;

/// A result that is the next value of an argument.
struct Update {
  /// Position in the entry's signature.
  int64_t argument = 0;
  /// The result has the argument's memory. Else it is copied there at the end
  /// of a step.
  bool inPlace = false;
  /// Why not in place, for listings; empty where it is.
  std::string reason;
  /// Of one in place: bytes of a rank's buffer that a step writes at most; all
  /// of them where this is absent.
  std::optional<int64_t> writtenBytes = std::nullopt;
  bool operator==(const Update &) const = default;
};

/// An argument or a result of an entry. Shapes are in elements and, like the
/// layout, in the source's dimension order.
struct Port {
  std::string name;
  /// The word of tp.kind, with which `kind:name` addresses the port.
  std::string kind;
  DataType dtype = DataType::F32;
  std::vector<int64_t> shape;
  PortLayout layout;
  /// Dimension i of the buffer is dimension permutation[i] of the source.
  std::vector<int64_t> permutation;
  /// Of weights alone.
  WeightSource source;
  /// Of weights alone: the type that the model has them in, whose numbers are
  /// rounded to `dtype` when they are loaded. Files have either type.
  std::optional<DataType> roundedFrom;
  /// Of results alone.
  std::optional<Update> update;
  /// An argument that nothing reads: it has no buffer and is not loaded.
  bool dead = false;

  PortRole role() const { return roleOf(kind); }
  /// Of a result: whether it has the memory of the argument that it updates.
  bool isInPlace() const { return update && update->inPlace; }
  /// Whether it is read from weight files by name, rather than given by the
  /// user.
  bool isWeight() const { return role() != PortRole::Input; }
  /// The shape of every rank's buffer, padding included.
  std::vector<int64_t> localShape() const;
  /// 0 of a dead argument.
  int64_t localBytes() const;
  /// Strides in elements, by source dimension, of the buffer in memory.
  std::vector<int64_t> localStrides() const;
  RankSlice slice(const Coordinates &rank) const;

  bool operator==(const Port &) const = default;
};

/// The default keys of a weight: its name; of an optimizer state `kind:name`.
WholeSource defaultSource(const Port &port);

/// Position of the port called `name`, where that is unique, or `kind:name`.
/// `side` is "argument" or "result", for messages, which name a similar port.
Status findPort(const std::vector<Port> &ports, std::string_view name,
                const char *side, int64_t &index);
/// The shortest name that findPort accepts for the port at `index`.
std::string portName(const std::vector<Port> &ports, int64_t index);

/// Of `names` the one with the fewest edits from `word`, below `tooMany`, or
/// an empty string where none is so similar.
std::string nearestName(std::string_view word,
                        const std::vector<std::string> &names, size_t tooMany);
/// The same where a third of the name may be wrong. Names of one letter are not
/// similar.
inline std::string nearestName(std::string_view word,
                               const std::vector<std::string> &names) {
  return nearestName(word, names, word.size() / 3 + 1);
}

} // namespace tp::runtime

#endif // TP_RUNTIME_PORT_H
