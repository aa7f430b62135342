//===- AlgorithmCache.h - choices of cuBLASLt, kept on disk -----*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_ALGORITHMCACHE_H
#define TP_RUNTIME_CUDA_ALGORITHMCACHE_H

#include "tp/Runtime/Cuda/CublasLtApi.h"
#include <functional>
#include <map>
#include <string>

namespace tp::runtime::cuda {

/// The algorithms that products run with, by shape, types, strides, alignment,
/// version and device, kept in the file `cublaslt-algorithms` of TP_CUDA_CACHE,
/// else of tp in XDG_CACHE_HOME, else of ~/.cache/tp. A file that is damaged or
/// cannot be written costs the choice of the algorithms anew, nothing else.
class AlgorithmCache {
public:
  AlgorithmCache();
  ~AlgorithmCache();
  AlgorithmCache(const AlgorithmCache &) = delete;

  bool find(const std::string &key, cublasLtMatmulAlgo_t &algorithm) const;
  void add(const std::string &key, const cublasLtMatmulAlgo_t &algorithm);
  /// Writes what was added, together with what others wrote meanwhile, and lets
  /// others choose.
  void save();

  /// Makes this the only process that chooses by timing, until `save`: all
  /// ranks then run what the first of them chose. Waits for another one at most
  /// `seconds` and while `meanwhile` says so, and reads what it kept. False
  /// where there is no file that ranks could share, or nothing came of the
  /// waiting.
  bool lock(double seconds, const std::function<bool()> &meanwhile);

private:
  void read(std::map<std::string, cublasLtMatmulAlgo_t> &entries) const;
  void makeFolder() const;
  void unlock();

  std::string path;
  std::map<std::string, cublasLtMatmulAlgo_t> known;
  bool changed = false;
  int lockFile = -1;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_ALGORITHMCACHE_H
