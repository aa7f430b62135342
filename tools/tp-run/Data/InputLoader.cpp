//===- InputLoader.cpp - where arguments come from ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputLoader.h"
#include "ConvertedWeights.h"
#include "SavedState.h"
#include "WeightKeys.h"
#include "tp/Runtime/SafeTensors.h"
#include "tp/Runtime/Slices.h"
#include <algorithm>

using namespace tp::run;
using namespace tp::runtime;

namespace {

/// Whether a file has a weight in another float than its buffer.
bool isConverted(DataType array, DataType buffer) {
  return array != buffer && isFloat(array) && isFloat(buffer);
}

/// Of the argument `port`, or of a part of it, an array of `shape` is expected.
Status checkType(const Port &port, const std::vector<int64_t> &shape,
                 const ArraySource &array, const std::string &place) {
  bool sameType =
      array.dtype == port.dtype || array.dtype == port.roundedFrom ||
      (port.dtype == DataType::Index && array.dtype == DataType::I64);
  if (sameType && array.shape == shape)
    return {};
  std::string expected = describeType(port.dtype, shape);
  if (port.roundedFrom)
    expected += std::string(" or ") + spelling(*port.roundedFrom);
  return invalidArgument(place + ": expected " + expected + " for '" +
                         port.name + "', got " + describeType(array));
}

/// Code may rely on a byte of an i1 being 0 or 1.
Status checkTruthValues(const ArraySource &source, const std::string &place) {
  if (source.dtype != DataType::I1)
    return {};
  Array array;
  if (Status status = source.elements(array); !status.ok())
    return status;
  for (int64_t i = 0, e = array.elements(); i < e; ++i)
    if (uint8_t(array.data[i]) > 1)
      return formatError(place + ": element " + std::to_string(i) +
                         " of a boolean array is neither 0 nor 1");
  return {};
}

/// The tensor of `shape` under one of `keys` that is the argument `port`, or a
/// part of it.
Status readTensor(const WeightFiles &files, WeightKeys &names, const Port &port,
                  const std::vector<std::string> &keys,
                  const std::vector<int64_t> &shape, ArraySource &array) {
  std::string place;
  std::vector<std::string> found = names.inFiles(port, keys);
  if (Status status = files.find(found, array, place); !status.ok()) {
    bool isThere =
        std::any_of(found.begin(), found.end(), [&](const std::string &key) {
          return files.contains(key);
        });
    std::string hint = isThere ? "" : names.hint(port, keys);
    return hint.empty() ? status
                        : Status(status.code(), status.message() + "; " + hint);
  }
  bool isOtherType = array.dtype != port.dtype && array.shape == shape;
  if (isOtherType &&
      widensExactly(array.dtype, port.roundedFrom.value_or(port.dtype)))
    return {};
  Status status = checkArray(port, shape, array, place);
  if (!status.ok() && isOtherType)
    return {status.code(), status.message() +
                               ": the program has another element type there: "
                               "export the model with these weights again"};
  return status;
}

} // namespace

Status tp::run::checkArray(const Port &port, const std::vector<int64_t> &shape,
                           const ArraySource &array, const std::string &place) {
  Status status = checkType(port, shape, array, place);
  return status.ok() ? checkTruthValues(array, place) : status;
}

std::vector<std::string> tp::run::tensorKeys(const Port &port) {
  std::vector<std::string> keys;
  if (const auto *whole = std::get_if<WholeSource>(&port.source);
      whole && port.isWeight())
    keys = whole->sourceKeys;
  keys.push_back(port.name);
  return keys;
}

Status tp::run::readArrayFile(const std::string &path,
                              const std::vector<std::string> &keys,
                              std::optional<DataType> rawType, Array &array) {
  if (path.ends_with(".npy"))
    return readNpy(path, rawType, array);
  if (path.ends_with(".pt") || path.ends_with(".pth") ||
      path.ends_with(".bin") || path.ends_with(".pkl"))
    return invalidArgument(path +
                           ": expected a .npy or .safetensors file, got a "
                           "pickle by its name; write in Python: numpy.save("
                           "'x.npy', torch.load(FILE).numpy())");
  if (!path.ends_with(".safetensors"))
    return invalidArgument(path + ": expected a .npy or .safetensors file");
  SafeTensors file;
  if (Status status = SafeTensors::open(path, file); !status.ok())
    return status;
  if (file.entries().size() == 1)
    return file.array(file.entries().begin()->first, array);
  for (const std::string &key : keys)
    if (file.entries().contains(key))
      return file.array(key, array);
  return file.array(keys.back(), array);
}

Status tp::run::bindFiles(const std::vector<NamedFile> &files,
                          const std::vector<Port> &ports,
                          const std::vector<int64_t> &order, const char *option,
                          const char *side, std::vector<int64_t> &indices) {
  std::vector<bool> taken(ports.size());
  indices.assign(files.size(), -1);
  for (size_t i = 0; i < files.size(); ++i) {
    const NamedFile &file = files[i];
    if (file.name.empty())
      continue;
    if (Status status = findPort(ports, file.name, side, indices[i]);
        !status.ok())
      return status.within(std::string(option) + "=" + file.text());
    if (taken[indices[i]])
      return invalidArgument(std::string(option) + ": '" +
                             portName(ports, indices[i]) + "' is given twice");
    taken[indices[i]] = true;
  }
  // Files without a name are for what is left, in order.
  auto next = order.begin();
  for (size_t i = 0; i < files.size(); ++i) {
    if (!files[i].name.empty())
      continue;
    while (next != order.end() && taken[*next])
      ++next;
    if (next == order.end()) {
      std::string names;
      for (int64_t port : order)
        names += (names.empty() ? ": " : ", ") + portName(ports, port);
      return invalidArgument(std::string(option) + "=" + files[i].text() +
                             ": one too many, the program has " +
                             std::to_string(order.size()) + names);
    }
    indices[i] = *next;
    taken[*next] = true;
  }
  return {};
}

static Status readInput(const Options &options, const NamedFile &input,
                        const Port &port, Array &array) {
  std::string place = input.literal ? "--input=" + input.text() : input.path;
  Status status =
      input.literal
          ? readLiteral(input.literal->type, input.literal->values, array)
                .within(place)
          : readArrayFile(input.path, tensorKeys(port), options.rawType, array);
  return status.ok() ? checkArray(port, port.shape, sourceOf(array), place)
                     : status;
}

void InputLoader::setWhole(int64_t index, ArraySource array) {
  std::vector<int64_t> start(array.shape.size());
  parts[index] = {{std::move(array), std::move(start)}};
}

Status InputLoader::loadState(const Options &options, const EntryView &entry) {
  if (options.loadState.empty())
    return {};
  LoadedState loaded;
  // Of the processes of ranks the first one has compared checksums.
  if (Status status =
          LoadedState::open(options.loadState, !options.process, entry, loaded);
      !status.ok())
    return status;
  for (auto &[argument, array] : loaded.arguments)
    setWhole(argument, std::move(array));
  loadedOfOthers = std::move(loaded.others);
  return {};
}

Status InputLoader::bindInputs(const Options &options, const EntryView &entry) {
  std::vector<int64_t> order, indices;
  for (size_t i = 0; i < entry.arguments.size(); ++i)
    if (!entry.arguments[i].isWeight() && parts[i].empty())
      order.push_back(i);
  if (Status status = bindFiles(options.inputs, entry.arguments, order,
                                "--input", "argument", indices);
      !status.ok())
    return status;
  for (size_t i = 0; i < indices.size(); ++i) {
    const Port &port = entry.arguments[indices[i]];
    if (!parts[indices[i]].empty())
      return invalidArgument(
          "--input=" + options.inputs[i].text() + ": '" +
          portName(entry.arguments, indices[i]) +
          "' is given by --load-state too, expected one of them");
    Array array;
    if (Status status = readInput(options, options.inputs[i], port, array);
        !status.ok())
      return status;
    if (port.dead)
      continue;
    setWhole(indices[i], sourceOf(array));
    if (options.inputs[i].steps.empty())
      continue;
    ofSteps.push_back(indices[i]);
    for (const std::string &path : options.inputs[i].steps) {
      NamedFile file;
      file.path = path;
      if (Status status = readInput(options, file, port,
                                    arraysOfSteps[indices[i]].emplace_back());
          !status.ok())
        return status;
    }
  }
  for (int64_t index : order) {
    const Port &port = entry.arguments[index];
    if (parts[index].empty() && !port.dead && !randomSeed)
      return invalidArgument("no --input for '" +
                             portName(entry.arguments, index) + "', " +
                             describeType(port.dtype, port.shape));
  }
  return {};
}

Status InputLoader::bindWeights(const Options &options,
                                const EntryView &entry) {
  if (options.weights.empty() && randomSeed)
    return {};
  WeightFiles files;
  if (Status status = WeightFiles::open(options.weights, files); !status.ok())
    return status;
  WeightKeys names(files, options.weightsPrefix);
  std::vector<const Port *> needed;
  for (size_t i = 0; i < entry.arguments.size(); ++i)
    if (entry.arguments[i].isWeight() && !entry.arguments[i].dead &&
        parts[i].empty())
      needed.push_back(&entry.arguments[i]);
  if (Status status = names.checkAllThere(needed); !status.ok())
    return status;
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    const Port &port = entry.arguments[i];
    if (!port.isWeight())
      continue;
    if (port.dead || !parts[i].empty()) {
      // Not loaded; the files may have it.
      names.use(port);
      continue;
    }
    auto read = [&](const std::vector<std::string> &keys,
                    const std::vector<int64_t> &shape,
                    std::vector<int64_t> offset) {
      Part part{{}, std::move(offset)};
      Status status = readTensor(files, names, port, keys, shape, part.array);
      parts[i].push_back(std::move(part));
      return status;
    };
    Status status = std::visit(
        Overloaded{[&](const WholeSource &source) {
                     return read(source.sourceKeys, port.shape,
                                 std::vector<int64_t>(port.shape.size()));
                   },
                   [&](const JoinedSource &source) {
                     Status status;
                     for (const SourceSegment &segment : source.segments)
                       if (status.ok())
                         status = read(segment.sourceKeys, segment.shape,
                                       segment.offset);
                     return status;
                   }},
        port.source);
    if (!status.ok())
      return status;
  }
  if (std::string unused = names.describeUnused(); !unused.empty())
    toldNotes.push_back(unused);
  return {};
}

Status InputLoader::open(const Options &options, const EntryView &entry,
                         InputLoader &loader) {
  InputLoader opened;
  opened.randomSeed = options.randomSeed;
  opened.parts.resize(entry.arguments.size());
  if (Status status = opened.loadState(options, entry); !status.ok())
    return status;
  if (Status status = opened.bindInputs(options, entry); !status.ok())
    return status;
  if (Status status = opened.bindWeights(options, entry); !status.ok())
    return status;
  loader = std::move(opened);
  return {};
}

Status InputLoader::fillFrom(const Part &part, const RankSlice &slice,
                             char *buffer) {
  RankSlice within = sliceWithin(slice, part.offset, part.array.shape);
  Array array;
  if (Status status = part.array.elements(array); !status.ok())
    return status;
  if (isConverted(array.dtype, slice.dtype))
    return scatterConverted(within, array, buffer);
  scatter(within, array.data, array.strides, buffer);
  return {};
}

Status InputLoader::fillPart(int64_t index, const RankSlice &slice,
                             char *buffer) const {
  if (slice.identity)
    scatter(slice, nullptr, std::vector<int64_t>(slice.shape.size()), buffer);
  else if (parts[index].empty())
    fillRandom(slice, index, *randomSeed, buffer);
  else
    for (const Part &part : parts[index])
      if (Status status = fillFrom(part, slice, buffer); !status.ok())
        return status;
  return {};
}

Status InputLoader::fillArgument(Rank &rank, int64_t index) const {
  const Port &port = rank.program().arguments[index];
  if (port.dead)
    return {};
  Status filled;
  Status loaded = rank.load(index, [&](const RankSlice &slice, char *buffer) {
    if (Status status = fillPart(index, slice, buffer); !status.ok())
      filled = status.within("weight '" + port.name + "'");
  });
  return loaded.ok() ? filled : loaded;
}

Status InputLoader::fill(Rank &rank) const {
  for (size_t i = 0; i < rank.program().arguments.size(); ++i)
    if (Status status = fillArgument(rank, int64_t(i)); !status.ok())
      return status;
  return {};
}

Status InputLoader::fillCounters(Rank &rank) const {
  for (const Port &result : rank.program().results)
    if (result.update && !isFloat(result.dtype))
      if (Status status = fillArgument(rank, result.update->argument);
          !status.ok())
        return status;
  return {};
}

Status InputLoader::fillStep(Rank &rank, int64_t step) const {
  for (int64_t index : ofSteps) {
    const Array &array = arraysOfSteps.at(index)[step];
    if (Status status = rank.load(index,
                                  [&](const RankSlice &slice, char *buffer) {
                                    scatter(slice, array.data, array.strides,
                                            buffer);
                                  });
        !status.ok())
      return status;
  }
  return {};
}
