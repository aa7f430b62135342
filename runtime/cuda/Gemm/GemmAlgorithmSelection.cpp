//===- GemmAlgorithmSelection.cpp - which algorithm a GEMM runs with ------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Cuda/CublasLtGemms.h"
#include <algorithm>
#include <cstdlib>
#include <optional>

using namespace tp::runtime;
using namespace tp::runtime::cuda;

/// What the heuristic is asked for where they are timed.
static constexpr int mostAlgorithms = 8;

bool CublasLtGemms::chooseByTiming() {
  const char *wish = std::getenv("TP_CUDA_TUNE");
  return !wish || std::string(wish) != "0";
}

/// The heuristic's answers, the best first.
Status CublasLtGemms::askHeuristic(
    const Plan &plan, const std::array<int64_t, 4> &alignments,
    std::vector<cublasLtMatmulHeuristicResult_t> &found) {
  cublasLtMatmulPreference_t preference = nullptr;
  if (Status status = library->cublasLtMatmulPreferenceCreate(&preference);
      !status.ok())
    return status;
  uint64_t most = plan.workspaceBytes;
  Status status = library->cublasLtMatmulPreferenceSetAttribute(
      preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, &most,
      sizeof(most));
  // The library's a is our b (see prepareSum), its c the residual, its d our c.
  const std::pair<int, size_t> attributes[] = {
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, 1},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, 0},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, 3},
      {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 2}};
  for (const auto &[attribute, operand] : attributes) {
    uint32_t bytes = uint32_t(alignments[operand]);
    if (status.ok())
      status = library->cublasLtMatmulPreferenceSetAttribute(
          preference, attribute, &bytes, sizeof(bytes));
  }
  found.resize(chooseByTiming() ? mostAlgorithms : 1);
  int count = 0;
  if (status.ok())
    status = library->cublasLtMatmulAlgoGetHeuristic(
        handle, plan.operation, plan.first, plan.second, plan.added(),
        plan.result, preference, int(found.size()), found.data(), &count);
  (void)library->cublasLtMatmulPreferenceDestroy(preference);
  if (!status.ok())
    return status;
  found.resize(size_t(count));
  std::erase_if(found, [&](const cublasLtMatmulHeuristicResult_t &result) {
    return result.state != CUBLAS_STATUS_SUCCESS ||
           result.workspaceSize > plan.workspaceBytes;
  });
  return found.empty() ? unsupported("cuBLASLt has no algorithm for it")
                       : Status();
}

/// The median of a few runs on cold data.
Status CublasLtGemms::timePlan(const Plan &plan, double &seconds,
                               bool &refused) {
  constexpr int rounds = 3;
  std::array<double, rounds> all = {};
  refused = false;
  auto work = [&] {
    Status status = run(plan, device.stream(Queue::Compute));
    refused = !status.ok();
    return status;
  };
  // Its code is loaded before anything is timed.
  Status status = timing.warmUp(work);
  for (double &one : all)
    if (status.ok())
      status = timing.time(work, plan.calls(), one);
  std::sort(all.begin(), all.end());
  seconds = all[rounds / 2];
  return status;
}

Status CublasLtGemms::choose(Plan &plan,
                             const std::array<int64_t, 4> &alignments,
                             const std::string &key, AlgorithmCache &cache) {
  std::vector<cublasLtMatmulHeuristicResult_t> found;
  if (Status status = askHeuristic(plan, alignments, found); !status.ok())
    return status;
  plan.algorithm = found.front().algo;
  constexpr double patience = 60;
  if (found.size() == 1 || !cache.lock(patience, timing.meanwhile)) {
    cache.add(key, plan.algorithm);
    return {};
  }
  if (useKept(plan, key, cache))
    return {};
  timed = true;
  Status failure;
  std::optional<std::pair<double, cublasLtMatmulAlgo_t>> fastest;
  for (const cublasLtMatmulHeuristicResult_t &result : found) {
    plan.algorithm = result.algo;
    double seconds = 0;
    bool refused = false;
    if (Status status = timePlan(plan, seconds, refused); !status.ok()) {
      failure = status;
      if (!refused)
        return status;
    } else if (!fastest || seconds < fastest->first) {
      fastest = {seconds, result.algo};
    }
  }
  if (!fastest)
    return failure;
  plan.algorithm = fastest->second;
  cache.add(key, plan.algorithm);
  return {};
}

bool CublasLtGemms::useKept(Plan &plan, const std::string &key,
                            const AlgorithmCache &cache) {
  cublasLtMatmulHeuristicResult_t checked = {};
  return cache.find(key, plan.algorithm) &&
         library->cublasLtMatmulAlgoCheck.code(
             handle, plan.operation, plan.first, plan.second, plan.added(),
             plan.result, &plan.algorithm, &checked) == CUBLAS_STATUS_SUCCESS &&
         checked.workspaceSize <= plan.workspaceBytes;
}
