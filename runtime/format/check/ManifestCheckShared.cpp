//===- ManifestCheckShared.cpp - what the entries of a manifest share -----===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/ManifestCheck.h"
#include <algorithm>

using namespace tp::runtime;

std::string tp::runtime::text(const std::vector<int64_t> &numbers) {
  std::string result = "[";
  for (size_t i = 0; i < numbers.size(); ++i)
    result += (i ? ", " : "") + std::to_string(numbers[i]);
  return result + "]";
}

bool tp::runtime::isPermutation(std::vector<int64_t> numbers, size_t size) {
  std::sort(numbers.begin(), numbers.end());
  for (size_t i = 0; i < numbers.size(); ++i)
    if (numbers[i] != int64_t(i))
      return false;
  return numbers.size() == size;
}

std::optional<int64_t>
tp::runtime::product(std::initializer_list<int64_t> factors) {
  int64_t result = 1;
  for (int64_t factor : factors)
    if (__builtin_mul_overflow(result, factor, &result) || result > maxBytes)
      return std::nullopt;
  return result;
}

std::string tp::runtime::checkMesh(const Mesh &mesh) {
  if (mesh.axes.empty() || mesh.axes.size() > TP_MAX_MESH_AXES)
    return "a mesh has 1 to 8 axes, got " + std::to_string(mesh.axes.size());
  std::set<std::string> names;
  int64_t ranks = 1;
  for (const MeshAxis &axis : mesh.axes) {
    if (!names.insert(axis.name).second)
      return "two mesh axes are called '" + axis.name + "'";
    ranks *= axis.size;
    if (ranks > Mesh::maxRanks)
      return "a mesh has at most " + std::to_string(Mesh::maxRanks) + " ranks";
  }
  if (!mesh.deviceOrder.empty() && !isPermutation(mesh.deviceOrder, ranks))
    return "the device order is no permutation of the " +
           std::to_string(ranks) + " ranks";
  return "";
}

namespace {

/// What the entries share.
class SharedChecker : public Finder {
public:
  explicit SharedChecker(const Manifest &manifest) : manifest(manifest) {}

  Status check() {
    errorIf(checkMesh(manifest.mesh));
    if (const auto *target = std::get_if<CudaTarget>(&manifest.target))
      errorIf(checkCudaTarget(*target));
    if (!status.ok())
      return status;
    checkIds(manifest.groups, "groups");
    checkIds(manifest.asserts, "asserts");
    for (size_t i = 0; i < manifest.groups.size() && status.ok(); ++i)
      checkGroup(manifest.groups[i]);
    checkPorts(manifest.arguments, manifest.mesh, "argument");
    checkJoined();
    if (manifest.entries.empty())
      error("expected an entry, got none");
    std::set<std::string> names;
    for (const Entry &entry : manifest.entries)
      if (!names.insert(entry.name).second)
        error("two entries are called '" + entry.name + "'");
    for (size_t i = 0; i < manifest.entries.size() && status.ok(); ++i)
      checkSignature(manifest.entries[i]);
    for (size_t i = 0; i < manifest.entries.size() && status.ok(); ++i)
      checkPart(int64_t(i));
    if (status.ok())
      checkShared();
    return status;
  }

private:
  /// Parts of one axis do not overlap, so that a position is one rank.
  void checkGroup(const RankGroup &group) {
    where = "group " + std::to_string(group.id);
    for (size_t i = 0; i < group.axes.size(); ++i)
      for (size_t j = 0; j < i; ++j) {
        const AxisPart &a = group.axes[i], &b = group.axes[j];
        bool apart = a.axis != b.axis || a.minor >= b.minor * b.size ||
                     b.minor >= a.minor * a.size;
        if (!apart)
          error("its axes hold '" + manifest.mesh.text(a) + "' and '" +
                manifest.mesh.text(b) + "', which overlap");
      }
    where.clear();
  }

  /// What hosts run is first; only that has results and carried values.
  void checkPart(int64_t index) {
    const Entry &entry = manifest.entries[index];
    where = "entry '" + entry.name + "'";
    int64_t total = 0;
    for (const CarriedValue &value : entry.carried)
      if (value.bytes < 0 || value.bytes > maxBytes - total)
        return error("its carried values are too large");
      else
        total += value.bytes;
    if (!entry.carried.empty() && manifest.partsOf(index).empty())
      return error("it has carried values and no parts");
    if (index > 0 && !entry.part && manifest.entries[index - 1].part)
      return error("it comes behind a part, expected parts behind all entries");
    if (entry.agreeAt &&
        (*entry.agreeAt < 0 || *entry.agreeAt > int64_t(entry.program.size())))
      return error("its ranks agree at command " +
                   std::to_string(*entry.agreeAt) + " of " +
                   std::to_string(entry.program.size()));
    if (entry.agreeAt && entry.part && entry.part->times > 1)
      return error("its ranks agree in a part that runs " +
                   std::to_string(entry.part->times) +
                   " times, expected one that runs once");
    if (const std::optional<EntryPart> &part = entry.part) {
      if (part->of < 0 || part->of >= index || manifest.entries[part->of].part)
        return error("it is a part of entry " + std::to_string(part->of) +
                     ", expected an earlier one that is no part");
      if (part->times < 1)
        return error("it runs " + std::to_string(part->times) +
                     " times, expected at least once");
      if (manifest.isCuda())
        return error("it is a part, expected none on devices");
      if (!entry.results.empty() || !entry.carried.empty())
        return error("it is a part, expected no results and no carried values");
    }
    where.clear();
  }

  /// Weights are shared, inputs that an entry updates for others, and what
  /// parts of an entry read.
  void checkShared() {
    std::set<int64_t> updated;
    for (const Entry &entry : manifest.entries)
      if (entry.part)
        updated.insert(entry.signature.begin(), entry.signature.end());
    for (const Entry &entry : manifest.entries)
      for (const Port &result : entry.results)
        if (result.update && result.update->argument >= 0 &&
            result.update->argument < int64_t(entry.signature.size()))
          updated.insert(entry.signature[result.update->argument]);
    for (size_t i = 0; i < manifest.arguments.size(); ++i)
      if (const Port &port = manifest.arguments[i];
          !port.isWeight() && !updated.contains(int64_t(i)))
        error("argument '" + port.name + "' of kind '" + port.kind +
              "' is no weight and no entry updates it, expected it as an input "
              "of an entry");
  }

  void checkInputs(const std::vector<Port> &ports) {
    for (const Port &port : ports)
      if (port.isWeight())
        error("input '" + port.name + "' of kind '" + port.kind +
              "' is a weight, expected it in 'arguments'");
  }

  /// Joined arguments are of one type, in one memory each, and loaded
  /// together.
  void checkJoined() {
    std::set<int64_t> seen;
    for (size_t i = 0; i < manifest.joined.size() && status.ok(); ++i) {
      where = "joined " + std::to_string(i);
      const std::vector<int64_t> &group = manifest.joined[i];
      if (group.size() < 2)
        return error("expected two arguments or more, got " +
                     std::to_string(group.size()));
      for (int64_t position : group) {
        if (position >= int64_t(manifest.arguments.size()))
          return error("it names argument " + std::to_string(position) +
                       " of " + std::to_string(manifest.arguments.size()));
        const Port &port = manifest.arguments[position];
        const Port &first = manifest.arguments[group.front()];
        if (!seen.insert(position).second)
          return error("argument '" + port.name + "' is joined twice");
        if (port.dtype != first.dtype)
          return error("'" + first.name + "' is of " + spelling(first.dtype) +
                       ", '" + port.name + "' of " + spelling(port.dtype));
        if (port.dead)
          return error("argument '" + port.name + "' is dead");
      }
    }
    where.clear();
  }

  /// An entry that reads joined memory has all of it.
  void checkJoinedOf(const std::vector<bool> &taken) {
    for (const std::vector<int64_t> &group : manifest.joined)
      for (int64_t position : group)
        if (taken[position] != taken[group.front()])
          error("its signature has some of the joined arguments [" +
                std::to_string(group.front()) + ", ...] and lacks '" +
                manifest.arguments[taken[position] ? group.front() : position]
                    .name +
                "'");
  }

  void checkSignature(const Entry &entry) {
    where = "entry '" + entry.name + "'";
    checkInputs(entry.inputs);
    size_t shared = manifest.arguments.size();
    size_t all = shared + entry.inputs.size();
    std::vector<bool> taken(all);
    for (size_t position : entry.signature) {
      if (position >= all)
        return error("its signature names argument " +
                     std::to_string(position) + " of " + std::to_string(all));
      if (taken[position])
        return error("its signature names argument " +
                     std::to_string(position) + " twice");
      taken[position] = true;
    }
    for (size_t i = shared; i < all; ++i)
      if (!taken[i])
        error("its signature lacks input '" + entry.inputs[i - shared].name +
              "'");
    checkJoinedOf(taken);
    where.clear();
  }

  const Manifest &manifest;
};

} // namespace

Status tp::runtime::checkShared(const Manifest &manifest) {
  return SharedChecker(manifest).check();
}
