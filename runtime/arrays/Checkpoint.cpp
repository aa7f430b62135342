//===- Checkpoint.cpp - reads folders of checkpoints ----------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Arrays/Checkpoint.h"
#include "Crc32.h"
#include "format/JsonReader.h"
#include "tp/Runtime/MappedFile.h"
#include <algorithm>
#include <filesystem>

using namespace tp::runtime;

bool tp::runtime::isCheckpointPath(const std::string &path) {
  std::error_code error;
  if (path.ends_with(".safetensors"))
    return false;
  return std::filesystem::is_directory(path, error) ||
         !std::filesystem::exists(path, error);
}

bool tp::runtime::isCheckpointFile(const std::string &name) {
  std::string_view rest = name;
  auto drop = [&](std::string_view text) {
    bool found = rest.starts_with(text);
    if (found)
      rest.remove_prefix(text.size());
    return found;
  };
  auto digits = [&](size_t count, const char *known) {
    bool all = rest.size() >= count &&
               rest.substr(0, count).find_first_not_of(known) == rest.npos;
    if (all)
      rest.remove_prefix(count);
    return all;
  };
  return (drop("model-") || drop("state-")) && digits(8, "0123456789abcdef") &&
         drop("-") && digits(5, "0123456789") && drop("-of-") &&
         digits(5, "0123456789") && rest == ".safetensors";
}

static Status noCheckpoint(const std::string &folder) {
  bool begun = false;
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end;
       !error && file != end; file.increment(error))
    begun |= isCheckpointFile(file->path().filename().string());
  return fileError(
      folder + ": has no " + checkpointIndex +
      ", expected a folder that save_checkpoint or tp-run --save-state wrote" +
      (begun ? ": it has files of a checkpoint that was never finished" : ""));
}

namespace {

/// What the index states of a file.
struct FileRow {
  uint64_t bytes = 0;
  std::string crc;
};

/// The index, with `path` in messages.
struct Index {
  std::map<std::string, FileRow> files;
  /// By key the file: weight_map and state.
  std::map<std::string, std::string> model, state;
};

} // namespace

static std::map<std::string, std::string> readMap(const JsonReader &map) {
  std::map<std::string, std::string> places;
  for (const auto &[key, file] : map.members())
    places.emplace(key, file.text());
  return places;
}

static Status readIndex(const std::string &path, std::string_view text,
                        Index &index) {
  nlohmann::json value;
  Status status = parseJson(text, value);
  if (!status.ok())
    return status.within(path);
  JsonReader reader(value, status);
  index.model = readMap(reader.at("weight_map"));
  std::optional<JsonReader> metadata = reader.find("metadata");
  std::optional<JsonReader> own =
      metadata && metadata->isObject() ? metadata->find("tp") : std::nullopt;
  if (status.ok() && !own)
    return formatError(path +
                       ": has the parameters of a model and no state of a "
                       "training run: it is no checkpoint of tp; give it as "
                       "--weights=" +
                       path);
  if (!status.ok())
    return status.within(path);
  int64_t version = own->at("version").integer();
  if (status.ok() && version != checkpointVersion)
    return formatError(path + ": expected version " +
                       std::to_string(checkpointVersion) +
                       " of a checkpoint, got " + std::to_string(version) +
                       ": load it by the tp that wrote it");
  index.state = readMap(own->at("state"));
  for (const auto &[name, row] : own->at("files").members()) {
    index.files[name] = {uint64_t(row.at("bytes").integer()),
                         row.at("crc32").text()};
    if (name.empty() || name.find('/') != std::string::npos || name == "." ||
        name == "..")
      row.error("'" + name + "' is no name of a file in the same folder");
  }
  for (const auto *places : {&index.model, &index.state})
    for (const auto &[key, file] : *places)
      if (!index.files.contains(file))
        reader.error("has '" + key + "' in '" + file +
                     "', which is none of its files");
  for (const auto &[key, file] : index.model)
    if (index.state.contains(key))
      reader.error("has '" + key + "' twice");
  return status.ok() ? status : status.within(path);
}

static Status crcOf(const MappedFile &file, std::string &text) {
  constexpr uint64_t mostBytes = 16 << 20;
  uint32_t crc = 0;
  for (uint64_t at = 0; at < file.fileSize(); at += mostBytes) {
    MappedFile part;
    if (Status status =
            file.map(at, std::min(mostBytes, file.fileSize() - at), part);
        !status.ok())
      return status;
    crc = crc32(part.bytes(), crc);
  }
  text = crcText(crc);
  return {};
}

static Status openFile(const std::string &path, const FileRow &row,
                       bool compares, SafeTensors &file) {
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return formatError(path + ": is missing: the checkpoint is incomplete");
  MappedFile mapped;
  if (Status status = MappedFile::open(path, mapped, MappedFile::Parts);
      !status.ok())
    return status;
  uint64_t size = mapped.fileSize();
  if (size != row.bytes)
    return formatError(path + ": has " + std::to_string(size) +
                       " bytes, expected " + std::to_string(row.bytes) +
                       ": the file is " +
                       (size < row.bytes ? "cut" : "another one"));
  if (compares) {
    std::string crc;
    if (Status status = crcOf(mapped, crc); !status.ok())
      return status;
    if (crc != row.crc)
      return formatError(path + ": has the CRC-32 " + crc + ", expected " +
                         row.crc + ": the file is damaged");
  }
  return SafeTensors::open(path, file);
}

Status Checkpoint::open(const std::string &folder, bool compares,
                        Checkpoint &checkpoint) {
  std::string path = folder + "/" + checkpointIndex;
  std::error_code error;
  if (!std::filesystem::exists(path, error))
    return noCheckpoint(folder);
  MappedFile text;
  if (Status status = MappedFile::open(path, text); !status.ok())
    return status;
  Index index;
  if (Status status = readIndex(path, text.bytes(), index); !status.ok())
    return status;
  Checkpoint opened;
  for (const auto &[name, row] : index.files)
    if (Status status =
            openFile(folder + "/" + name, row, compares, opened.files[name]);
        !status.ok())
      return status;
  size_t tensors = 0;
  for (const auto &[name, file] : opened.files)
    tensors += file.entries().size();
  for (const auto *places : {&index.model, &index.state})
    for (const auto &[key, name] : *places) {
      if (!opened.files[name].entries().contains(key))
        return formatError(path + ": has '" + key + "' in '" + name +
                           "', which does not have it");
      opened.places.emplace(key, name);
      opened.names.push_back(key);
    }
  if (tensors != opened.names.size())
    return formatError(path + ": its files have " + std::to_string(tensors) +
                       " tensors, and it names " +
                       std::to_string(opened.names.size()));
  checkpoint = std::move(opened);
  return {};
}

Status Checkpoint::source(const std::string &key, ArraySource &source) const {
  return files.at(places.at(key)).source(key, source);
}
