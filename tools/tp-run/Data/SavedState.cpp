//===- SavedState.cpp - state from and to a file --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SavedState.h"
#include "Results.h"
#include "tp/Runtime/Slices.h"
#include <set>

using namespace tp::run;
using namespace tp::runtime;

namespace {

/// What results of any entry update.
std::set<TensorNumber> updatedTensors(const Manifest &manifest) {
  std::set<TensorNumber> updated;
  for (const Entry &each : manifest.entries) {
    EntryView view(manifest, each);
    for (const Port &result : view.results)
      if (result.update)
        updated.insert(view.tensorOf(result.update->argument));
  }
  return updated;
}

std::string listed(const std::vector<std::string> &names) {
  constexpr size_t most = 8;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), most); ++i)
    text += (i ? ", '" : "'") + names[i] + "'";
  if (names.size() > most)
    text += " and " + std::to_string(names.size() - most) + " more";
  return text;
}

/// Of all entries.
std::set<std::string> stateKeysOf(const Manifest &manifest) {
  std::set<std::string> keys;
  std::set<TensorNumber> updated = updatedTensors(manifest);
  for (const Entry &each : manifest.entries) {
    EntryView view(manifest, each);
    for (size_t i = 0; i < view.arguments.size(); ++i)
      if (updated.contains(view.tensorOf(int64_t(i))))
        keys.insert(tensorKeys(view.arguments[i]).front());
  }
  return keys;
}

/// The tensor as the ranks' slices of it make it.
template <typename SliceOf>
Array assembled(const Port &port, const EntryView &entry, SliceOf sliceOf) {
  char *bytes = nullptr;
  Array array = makeArray(port.dtype, port.shape, bytes);
  for (int64_t rank = entry.numRanks(); rank-- > 0;) {
    RankSlice slice = port.slice(entry.coordinates(rank));
    assemble(slice, sliceOf(slice), bytes, array.strides);
  }
  return array;
}

} // namespace

Status tp::run::statesOf(const EntryView &entry,
                         std::map<std::string, int64_t> &states) {
  std::set<TensorNumber> updated = updatedTensors(entry.manifest);
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    const Port &port = entry.arguments[i];
    if (port.dead || !updated.contains(entry.tensorOf(int64_t(i))))
      continue;
    std::string key = tensorKeys(port).front();
    auto [other, isNew] = states.emplace(key, int64_t(i));
    if (!isNew)
      return invalidArgument("the states '" +
                             portName(entry.arguments, other->second) +
                             "' and '" + portName(entry.arguments, int64_t(i)) +
                             "' have one key, '" + key +
                             "': give them different names in the model");
  }
  if (states.empty())
    return invalidArgument("the entry '" + entry.name +
                           "' has no state: no result updates an argument");
  return {};
}

Status LoadedState::open(const std::string &path, const EntryView &entry,
                         LoadedState &state) {
  std::map<std::string, int64_t> states;
  if (Status status = statesOf(entry, states); !status.ok())
    return status.within("--load-state");
  SafeTensors file;
  if (Status status = SafeTensors::open(path, file); !status.ok())
    return status;
  std::set<std::string> known = stateKeysOf(entry.manifest);
  std::vector<std::string> lacking, unknown, expected;
  for (const auto &[key, argument] : states) {
    expected.push_back(key);
    if (!file.entries().contains(key))
      lacking.push_back(key);
  }
  for (const auto &[key, tensor] : file.entries())
    if (!known.contains(key))
      unknown.push_back(key);
  if (lacking.size() == states.size())
    return invalidArgument(
        path + ": expected a saved state with " + listed(expected) + ", got " +
        (file.entries().empty()
             ? "no tensor"
             : "one of another model, with " + listed(unknown)));
  if (!lacking.empty())
    return invalidArgument(path + ": lacks the state " + listed(lacking) +
                           ", expected a file that --save-state wrote of this "
                           "model");
  if (!unknown.empty())
    return invalidArgument(path + ": has " + listed(unknown) +
                           ", which is no state of the model, expected " +
                           listed(expected));
  for (const auto &[key, tensor] : file.entries()) {
    auto own = states.find(key);
    Array array;
    if (Status status = file.array(key, array); !status.ok())
      return status;
    if (own == states.end()) {
      state.others.emplace(key, std::move(array));
      continue;
    }
    const Port &port = entry.arguments[own->second];
    if (Status status = checkArray(port, port.shape, array,
                                   path + ": tensor '" + key + "'");
        !status.ok())
      return status;
    state.arguments.emplace(own->second, std::move(array));
  }
  return {};
}

Status StateToSave::open(const Options &options, const EntryView &entry,
                         StateToSave &state) {
  if (options.saveState.empty())
    return {};
  StateToSave opened;
  opened.path = options.saveState;
  if (Status status = statesOf(entry, opened.states); !status.ok())
    return status.within("--save-state");
  for (const auto &[key, argument] : opened.states)
    if (Status status = checkSafeTensor(key, entry.arguments[argument].dtype);
        !status.ok())
      return status.within("--save-state");
  for (size_t i = 0; i < entry.results.size(); ++i)
    if (const std::optional<Update> &update = entry.results[i].update)
      opened.updates[update->argument] = int64_t(i);
  state = std::move(opened);
  return {};
}

std::vector<int64_t> StateToSave::results() const {
  std::vector<int64_t> numbers;
  for (const auto &[key, argument] : states)
    if (auto update = updates.find(argument); update != updates.end())
      numbers.push_back(update->second);
  return numbers;
}

Status StateToSave::write(const EntryView &entry, const InputLoader &loader,
                          Transport &transport) const {
  if (path.empty())
    return {};
  std::map<std::string, TensorToWrite> tensors;
  for (const auto &[key, array] : loader.statesOfOthers())
    tensors[key] = {array.dtype, array.shape, [&array] { return array; }};
  for (const auto &[key, argument] : states) {
    const Port &port = entry.arguments[argument];
    auto update = updates.find(argument);
    tensors[key] = {port.dtype, port.shape, [&, argument, update] {
                      if (update != updates.end())
                        return gatherResult(entry, update->second, transport);
                      std::string buffer;
                      return assembled(
                          port, entry, [&](const RankSlice &slice) {
                            buffer.assign(port.localBytes(), '\0');
                            loader.fillPart(argument, slice, buffer.data());
                            return buffer.data();
                          });
                    }};
  }
  return writeDurableSafeTensors(path, tensors);
}
