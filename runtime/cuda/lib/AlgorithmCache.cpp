//===- AlgorithmCache.cpp - choices of cuBLASLt, kept on disk -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/ArtifactFile.h"
#include "tp/Runtime/Cuda/Products.h"
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

static std::string cacheFolder() {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string folder = variable("TP_CUDA_CACHE"); !folder.empty())
    return folder;
  if (std::string folder = variable("XDG_CACHE_HOME"); !folder.empty())
    return folder + "/tp";
  std::string home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/tp";
}

AlgorithmCache::AlgorithmCache() {
  std::string folder = cacheFolder();
  if (folder.empty())
    return;
  path = folder + "/cublaslt-algorithms";
  read(known);
}

/// A line: eight words in hexadecimal, then the key. Other lines are no
/// entries; the library checks an algorithm before it is used.
void AlgorithmCache::read(
    std::map<std::string, cublasLtMatmulAlgo_t> &entries) const {
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream words(line);
    cublasLtMatmulAlgo_t algorithm;
    for (uint64_t &word : algorithm.data)
      words >> std::hex >> word;
    std::string key;
    if (words.get() == ' ' && std::getline(words, key) && !key.empty())
      entries.emplace(key, algorithm);
  }
}

bool AlgorithmCache::find(const std::string &key,
                          cublasLtMatmulAlgo_t &algorithm) const {
  auto found = known.find(key);
  if (found == known.end())
    return false;
  algorithm = found->second;
  return true;
}

void AlgorithmCache::add(const std::string &key,
                         const cublasLtMatmulAlgo_t &algorithm) {
  known[key] = algorithm;
  changed = true;
}

void AlgorithmCache::save() const {
  if (!changed || path.empty())
    return;
  std::map<std::string, cublasLtMatmulAlgo_t> all = known;
  read(all);
  std::ostringstream text;
  for (const auto &[key, algorithm] : all) {
    for (uint64_t word : algorithm.data)
      text << std::hex << word << ' ';
    text << key << '\n';
  }
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(),
                                      ignored);
  (void)writeFileAtomically(path, text.str());
}
