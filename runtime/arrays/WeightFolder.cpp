//===- WeightFolder.cpp - the file of weights of a folder -----------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/SafeTensors.h"
#include <algorithm>
#include <filesystem>

using namespace tp::runtime;

/// As checkpoints and tp.Model.save name them, the first one first:
/// python/tp/weights.py has the same names.
static constexpr const char *fileNames[] = {
    "model.safetensors.index.json", "model.safetensors", "weights.safetensors"};

/// The names of other files of tensors, in order.
static std::vector<std::string> otherFiles(const std::string &folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (std::filesystem::directory_iterator file(folder, error), end;
       !error && file != end; file.increment(error))
    if (file->path().extension() == ".safetensors")
      names.push_back(file->path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

Status tp::runtime::findWeightFile(std::string &path) {
  std::error_code error;
  std::filesystem::path folder = path;
  if (!std::filesystem::is_directory(folder, error))
    return {};
  std::string expected;
  for (const char *name : fileNames) {
    if (std::filesystem::exists(folder / name, error)) {
      path = (folder / name).string();
      return {};
    }
    expected += std::string(expected.empty() ? "" : ", ") + "'" + name + "'";
  }
  std::vector<std::string> others = otherFiles(path);
  std::string message = path + ": the folder has none of " + expected;
  if (!others.empty())
    message += ": give its files one by one, such as " +
               (folder / others.front()).string();
  return fileError(message);
}
