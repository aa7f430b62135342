//===- SavedState.cpp - state from and to a file --------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SavedState.h"
#include "Results.h"
#include "tp/Runtime/Arrays/Checkpoint.h"
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

/// The tensor as the ranks' slices of it, which `loader` fills, make it.
Status assembled(const EntryView &entry, int64_t argument,
                 const InputLoader &loader, Array &array) {
  const Port &port = entry.arguments[argument];
  char *bytes = nullptr;
  array = makeArray(port.dtype, port.shape, bytes);
  std::string buffer;
  for (int64_t rank = entry.numRanks(); rank-- > 0;) {
    RankSlice slice = port.slice(entry.coordinates(rank));
    buffer.assign(port.localBytes(), '\0');
    if (Status status = loader.fillPart(argument, slice, buffer.data());
        !status.ok())
      return status;
    assemble(slice, buffer.data(), bytes, array.strides);
  }
  return {};
}

/// Files of a checkpoint are up to so large, as transformers writes them.
constexpr int64_t mostFileBytes = 5'000'000'000;

/// The tensors of a file or of a checkpoint, by key.
struct SavedTensors {
  std::vector<std::string> keys;
  std::function<Status(const std::string &, ArraySource &)> source;
};

Status openSaved(const std::string &path, bool compares, SavedTensors &saved) {
  if (isCheckpointPath(path)) {
    auto checkpoint = std::make_shared<Checkpoint>();
    if (Status status = Checkpoint::open(path, compares, *checkpoint);
        !status.ok())
      return status;
    saved = {checkpoint->keys(),
             [checkpoint](const std::string &key, ArraySource &source) {
               return checkpoint->source(key, source);
             }};
    return {};
  }
  auto file = std::make_shared<SafeTensors>();
  if (Status status = SafeTensors::open(path, *file); !status.ok())
    return status;
  for (const auto &[key, tensor] : file->entries())
    saved.keys.push_back(key);
  saved.source = [file](const std::string &key, ArraySource &source) {
    return file->source(key, source);
  };
  return {};
}

/// All names of parameters and buffers, also of dead ones.
void addParameterKeys(const Manifest &manifest, std::set<std::string> &keys) {
  for (const Entry &each : manifest.entries)
    for (const Port &port : EntryView(manifest, each).arguments)
      if (port.kind == "parameter" || port.kind == "buffer")
        for (const std::string &key : tensorKeys(port))
          keys.insert(key);
}

} // namespace

std::map<std::string, int64_t> tp::run::keptParameters(const EntryView &entry) {
  std::set<TensorNumber> updated = updatedTensors(entry.manifest);
  std::map<std::string, int64_t> kept;
  for (size_t i = 0; i < entry.arguments.size(); ++i) {
    const Port &port = entry.arguments[i];
    if (port.kind == "parameter" && !port.dead &&
        std::holds_alternative<WholeSource>(port.source) &&
        !updated.contains(entry.tensorOf(int64_t(i))))
      kept.emplace(tensorKeys(port).front(), int64_t(i));
  }
  return kept;
}

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

Status LoadedState::open(const std::string &path, bool compares,
                         const EntryView &entry, LoadedState &state) {
  std::map<std::string, int64_t> states;
  if (Status status = statesOf(entry, states); !status.ok())
    return status.within("--load-state");
  SavedTensors saved;
  if (Status status = openSaved(path, compares, saved); !status.ok())
    return status;
  std::set<std::string> stateKeys = stateKeysOf(entry.manifest);
  std::set<std::string> known = stateKeys;
  std::set<std::string> has(saved.keys.begin(), saved.keys.end());
  std::vector<std::string> lacking, unknown, expected;
  for (const auto &[key, argument] : states) {
    expected.push_back(key);
    if (!has.contains(key))
      lacking.push_back(key);
  }
  std::map<std::string, int64_t> arguments = states;
  std::set<std::string> ofModel;
  if (isCheckpointPath(path)) {
    addParameterKeys(entry.manifest, ofModel);
    known.insert(ofModel.begin(), ofModel.end());
    arguments.merge(keptParameters(entry));
  }
  for (const std::string &key : saved.keys)
    if (!known.contains(key))
      unknown.push_back(key);
  if (lacking.size() == states.size())
    return invalidArgument(
        path + ": expected a saved state with " + listed(expected) + ", got " +
        (saved.keys.empty() ? "no tensor"
                            : "one of another model, with " + listed(unknown)));
  if (!lacking.empty())
    return invalidArgument(path + ": lacks the state " + listed(lacking) +
                           ", expected a file that --save-state wrote of this "
                           "model");
  if (!unknown.empty())
    return invalidArgument(path + ": has " + listed(unknown) +
                           ", which is no state of the model, expected " +
                           listed(expected));
  for (const std::string &key : saved.keys) {
    auto own = arguments.find(key);
    // A further name of a tied weight, or one that is dead.
    if (own == arguments.end() && ofModel.contains(key) &&
        !stateKeys.contains(key))
      continue;
    ArraySource array;
    if (Status status = saved.source(key, array); !status.ok())
      return status;
    if (own == arguments.end()) {
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

Status StateToSave::elements(const EntryView &entry, int64_t argument,
                             const InputLoader &loader, Transport &transport,
                             Array &array) const {
  if (auto update = updates.find(argument); update != updates.end())
    return gatherResult(entry, update->second, transport, array);
  return assembled(entry, argument, loader, array);
}

Status StateToSave::write(const EntryView &entry, const InputLoader &loader,
                          Transport &transport) const {
  if (path.empty())
    return {};
  std::map<std::string, ArraySource> parameters, tensors;
  for (const auto &[key, array] : loader.statesOfOthers())
    tensors[key] = array;
  auto add = [&](const std::string &key, int64_t argument) {
    const Port &port = entry.arguments[argument];
    ArraySource tensor = {port.dtype, port.shape, [&, argument](Array &array) {
                            return elements(entry, argument, loader, transport,
                                            array);
                          }};
    bool ofModel = port.kind == "parameter" || port.kind == "buffer";
    if (!ofModel || !isCheckpointPath(path)) {
      tensors[key] = tensor;
      return;
    }
    // Libraries look for a tied weight under a name of their choice.
    parameters[key] = tensor;
    if (const auto *whole = std::get_if<WholeSource>(&port.source))
      for (const std::string &other : whole->sourceKeys)
        parameters[other] = tensor;
  };
  for (const auto &[key, argument] : states)
    add(key, argument);
  if (!isCheckpointPath(path))
    return writeDurableSafeTensors(path, tensors);
  for (const auto &[key, argument] : keptParameters(entry))
    add(key, argument);
  return writeCheckpoint(path, parameters, tensors, mostFileBytes);
}
