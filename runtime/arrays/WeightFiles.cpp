//===- WeightFiles.cpp - all weight files of a run ------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "format/JsonReader.h"
#include "tp/Runtime/SafeTensors.h"

using namespace tp::runtime;

Status WeightFiles::open(const std::vector<std::string> &paths,
                         WeightFiles &files) {
  WeightFiles opened;
  for (const std::string &path : paths)
    if (Status status = opened.add(path); !status.ok())
      return status;
  files = std::move(opened);
  return {};
}

Status WeightFiles::add(const std::string &path) {
  listing += (listing.empty() ? "" : ", ") + path;
  return path.ends_with(".index.json") ? addIndex(path) : addFile(path);
}

Status WeightFiles::addIndex(const std::string &path) {
  MappedFile index;
  if (Status status = MappedFile::open(path, index); !status.ok())
    return status;
  nlohmann::json value;
  Status status = parseJson(index.bytes(), value);
  if (!status.ok())
    return status.within(path);
  JsonReader map = JsonReader(value, status).at("weight_map");
  std::map<std::string, std::vector<std::string>> keysOfFile;
  for (const auto &[key, file] : map.members())
    keysOfFile[file.text()].push_back(key);
  if (!status.ok())
    return status.within(path);
  size_t slash = path.rfind('/');
  std::string folder =
      slash == std::string::npos ? "" : path.substr(0, slash + 1);
  for (const auto &[name, keys] : keysOfFile) {
    // The files of an index stand beside it.
    if (name.empty() || name.find('/') != std::string::npos || name == "..")
      return formatError(path + ": '" + name +
                         "' is no name of a file in the same folder");
    if (Status added = addFile(folder + name); !added.ok())
      return added.within(path);
    for (const std::string &key : keys)
      if (!files.back().entries().contains(key))
        return formatError(path + ": key '" + key + "' should be in '" + name +
                           "', which does not have it");
  }
  return {};
}

Status WeightFiles::addFile(const std::string &path) {
  SafeTensors file;
  if (Status status = SafeTensors::open(path, file); !status.ok())
    return status;
  for (const auto &[key, entry] : file.entries()) {
    auto [place, isNew] = places.emplace(key, files.size());
    if (isNew)
      continue;
    const SafeTensors &other = files[place->second];
    const SafeTensors::Entry &otherEntry = other.entries().at(key);
    bool equal =
        entry.dtype == otherEntry.dtype && entry.shape == otherEntry.shape;
    if (equal)
      if (Status status = file.compare(entry, other, otherEntry, equal);
          !status.ok())
        return status;
    if (!equal)
      return formatError(path + ": tensor '" + key +
                         "' differs from the one in " + other.path());
  }
  files.push_back(std::move(file));
  return {};
}

std::vector<std::string> WeightFiles::keys() const {
  std::vector<std::string> keys;
  for (const auto &[key, file] : places)
    keys.push_back(key);
  return keys;
}

Status WeightFiles::lacks(const std::string &tensors) const {
  return invalidArgument(
      "no weight file has " + tensors +
      (listing.empty() ? ": give --weights" : "; looked in " + listing));
}

Status WeightFiles::find(const std::vector<std::string> &keys,
                         ArraySource &array, std::string &place) const {
  std::string wanted;
  const SafeTensors *firstFile = nullptr;
  const SafeTensors::Entry *first = nullptr;
  std::string firstKey;
  for (const std::string &key : keys) {
    wanted += (wanted.empty() ? "'" : "' or '") + key;
    auto found = places.find(key);
    if (found == places.end())
      continue;
    const SafeTensors &file = files[found->second];
    const SafeTensors::Entry &entry = file.entries().at(key);
    if (!first) {
      first = &entry;
      firstFile = &file;
      firstKey = key;
      continue;
    }
    bool equal = entry.dtype == first->dtype && entry.shape == first->shape;
    if (equal)
      if (Status status = file.compare(entry, *firstFile, *first, equal);
          !status.ok())
        return status;
    if (!equal)
      return formatError("'" + firstKey + "' in " + firstFile->path() +
                         " and '" + key + "' in " + file.path() +
                         " are one tied weight, but their contents differ");
  }
  if (!first)
    return lacks(wanted + "'");
  place = firstFile->path() + ": tensor '" + firstKey + "'";
  return firstFile->source(firstKey, array);
}
