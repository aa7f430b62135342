//===- WriteCheckpoint.cpp - writes folders of checkpoints ----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Crc32.h"
#include "format/JsonWriter.h"
#include "tp/Runtime/Arrays/Checkpoint.h"
#include "tp/Runtime/OutputFile.h"
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <random>
#include <set>
#include <sys/file.h>
#include <unistd.h>

using namespace tp::runtime;

namespace {

/// This process alone writes to the folder while it lives.
class FolderLock {
public:
  ~FolderLock() {
    if (descriptor >= 0)
      ::close(descriptor);
  }
  FolderLock() = default;
  FolderLock(const FolderLock &) = delete;

  Status take(const std::string &folder) {
    descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0)
      return fileError(folder + ": cannot make the checkpoint's folder: " +
                       std::strerror(errno));
    if (flock(descriptor, LOCK_EX | LOCK_NB) != 0)
      return fileError(folder + ": another process writes a checkpoint there: "
                                "give each run a folder of its own");
    return {};
  }

private:
  int descriptor = -1;
};

/// The files of a new checkpoint, of which a failure leaves none.
struct NewFiles {
  std::string folder;
  std::map<std::string, WrittenFile> written;
  bool done = false;

  ~NewFiles() {
    for (const auto &[name, file] : written)
      if (!done)
        ::unlink((folder + "/" + name).c_str());
  }
};

using Tensors = std::map<std::string, ArraySource>;

std::string numbered(size_t number) {
  std::string text = std::to_string(number);
  return std::string(5 - std::min<size_t>(text.size(), 5), '0') + text;
}

std::vector<Tensors> shardsOf(const Tensors &tensors, int64_t mostBytes) {
  std::vector<Tensors> shards;
  int64_t bytes = 0;
  for (const auto &[key, tensor] : tensors) {
    int64_t size = tensor.bytes();
    if (shards.empty() || bytes + size > mostBytes) {
      shards.emplace_back();
      bytes = 0;
    }
    shards.back().emplace(key, tensor);
    bytes += size;
  }
  return shards;
}

/// Writes the shards, and says which has which key.
Status writeShards(const std::string &kind, const std::string &id,
                   const Tensors &tensors, int64_t mostBytes, NewFiles &files,
                   std::map<std::string, std::string> &places) {
  std::vector<Tensors> shards = shardsOf(tensors, mostBytes);
  for (size_t i = 0; i < shards.size(); ++i) {
    std::string name = kind + "-" + id + "-" + numbered(i + 1) + "-of-" +
                       numbered(shards.size()) + ".safetensors";
    // So that a failure removes it.
    WrittenFile &file = files.written[name];
    if (Status status = writeDurableSafeTensors(files.folder + "/" + name,
                                                shards[i], &file);
        !status.ok())
      return status;
    for (const auto &[key, tensor] : shards[i])
      places.emplace(key, name);
  }
  return {};
}

std::string indexText(const std::map<std::string, std::string> &model,
                      const std::map<std::string, std::string> &state,
                      int64_t modelBytes, const NewFiles &files) {
  JsonWriter json;
  auto map = [&](const char *name,
                 const std::map<std::string, std::string> &places) {
    json.objectMember(name, [&] {
      for (const auto &[key, file] : places)
        json.member(key, file);
    });
  };
  json.object([&] {
    json.objectMember("metadata", [&] {
      json.member("total_size", modelBytes);
      json.objectMember("tp", [&] {
        json.member("version", checkpointVersion);
        map("state", state);
        json.objectMember("files", [&] {
          for (const auto &[name, file] : files.written)
            json.objectMember(name, [&] {
              json.member("bytes", int64_t(file.bytes));
              json.member("crc32", crcText(file.crc));
            });
        });
      });
    });
    map("weight_map", model);
  });
  return json.take();
}

std::string newId() {
  std::random_device random;
  return crcText(random());
}

} // namespace

Status tp::runtime::checkCheckpointPlace(const std::string &folder) {
  std::string place = folder;
  while (place.size() > 1 && place.ends_with('/'))
    place.pop_back();
  if (::access(place.c_str(), F_OK) != 0) {
    size_t slash = place.rfind('/');
    place = slash == std::string::npos ? "."
            : slash == 0               ? "/"
                                       : place.substr(0, slash);
  }
  if (::access(place.c_str(), W_OK | X_OK) == 0)
    return {};
  return fileError(folder + ": cannot make the checkpoint's folder: " +
                   std::strerror(errno));
}

Status tp::runtime::writeCheckpoint(const std::string &folder,
                                    const Tensors &model, const Tensors &state,
                                    int64_t mostBytes) {
  std::error_code error;
  std::filesystem::create_directory(folder, error);
  FolderLock lock;
  if (Status status = lock.take(folder); !status.ok())
    return status;
  NewFiles files{folder, {}};
  std::map<std::string, std::string> modelPlaces, statePlaces;
  std::string id = newId();
  for (auto [kind, tensors, places] :
       {std::tuple("model", &model, &modelPlaces),
        std::tuple("state", &state, &statePlaces)})
    if (Status status =
            writeShards(kind, id, *tensors, mostBytes, files, *places);
        !status.ok())
      return status;
  int64_t modelBytes = 0;
  for (const auto &[key, tensor] : model)
    modelBytes += tensor.bytes();
  std::string index = indexText(modelPlaces, statePlaces, modelBytes, files);
  if (Status status = writeDurableFile(folder + "/" + checkpointIndex, 1,
                                       [&](size_t, std::string_view &bytes) {
                                         bytes = index;
                                         return Status();
                                       });
      !status.ok())
    return status;
  files.done = true;
  // What an old checkpoint, or a run that was killed, has left.
  std::vector<std::filesystem::path> old;
  for (std::filesystem::directory_iterator file(folder, error), end;
       !error && file != end; file.increment(error)) {
    std::string name = file->path().filename().string();
    if (isCheckpointFile(name) && !files.written.contains(name))
      old.push_back(file->path());
  }
  for (const std::filesystem::path &path : old)
    std::filesystem::remove(path, error);
  return {};
}
