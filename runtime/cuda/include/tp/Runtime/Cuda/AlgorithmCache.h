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

/// The algorithms that GEMMs run with, by shape, types, strides, alignment,
/// version and device, kept in the file `cublaslt-algorithms` of TP_CUDA_CACHE,
/// else of tp in XDG_CACHE_HOME, else of ~/.cache/tp. If the file is damaged or
/// cannot be written, algorithms are chosen again; nothing else happens.
class AlgorithmCache {
public:
  AlgorithmCache();
  ~AlgorithmCache();
  AlgorithmCache(const AlgorithmCache &) = delete;

  bool find(const std::string &key, cublasLtMatmulAlgo_t &algorithm) const;
  void add(const std::string &key, const cublasLtMatmulAlgo_t &algorithm);
  /// Merges the added entries into the file, and releases the lock.
  void save();

  /// Makes this the only process that chooses by timing, until `save`, so that
  /// all ranks run what the first of them chose. Waits for another process at
  /// most `seconds`, and while `meanwhile` returns true; then reads its
  /// choices. False if there is no file to share, or the wait failed.
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
