//===- AlgorithmCache.cpp - choices of cuBLASLt, kept on disk -------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/AlgorithmCache.h"
#include "tp/Runtime/OutputFile.h"
#include <chrono>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <sys/file.h>
#include <thread>
#include <unistd.h>

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

void AlgorithmCache::save() {
  if (changed && !path.empty()) {
    std::map<std::string, cublasLtMatmulAlgo_t> all = known;
    read(all);
    std::ostringstream text;
    for (const auto &[key, algorithm] : all) {
      for (uint64_t word : algorithm.data)
        text << std::hex << word << ' ';
      text << key << '\n';
    }
    makeFolder();
    (void)writeOutputFile(path, text.str());
    changed = false;
  }
  unlock();
}

void AlgorithmCache::makeFolder() const {
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(),
                                      ignored);
}

bool AlgorithmCache::lock(double seconds,
                          const std::function<bool()> &meanwhile) {
  if (lockFile >= 0)
    return true;
  if (path.empty())
    return false;
  makeFolder();
  // Beside the file, which is replaced when it is written. The system unlocks
  // it when the process ends, whatever it ends of.
  lockFile = open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  using Clock = std::chrono::steady_clock;
  Clock::time_point end =
      Clock::now() + std::chrono::duration_cast<Clock::duration>(
                         std::chrono::duration<double>(seconds));
  while (lockFile >= 0 && flock(lockFile, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK || Clock::now() > end || !meanwhile()) {
      close(lockFile);
      lockFile = -1;
      break;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (lockFile < 0)
    return false;
  // What this one has added stays: others run by it already.
  read(known);
  return true;
}

void AlgorithmCache::unlock() {
  if (lockFile >= 0)
    close(lockFile);
  lockFile = -1;
}

AlgorithmCache::~AlgorithmCache() { unlock(); }
