//===- CublasLtGemms.h - the GEMMs of one rank's program --------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_CUBLASLTGEMMS_H
#define TP_RUNTIME_CUDA_CUBLASLTGEMMS_H

#include "tp/Runtime/Cuda/AlgorithmCache.h"
#include "tp/Runtime/Cuda/Device.h"
#include "tp/Runtime/Manifest.h"
#include <functional>

namespace tp::runtime::cuda {

/// Addresses of a GEMM's operands; 0 for those that it does not have.
struct GemmAddresses {
  CUdeviceptr a = 0, b = 0, c = 0, residual = 0, bias = 0;
};

/// How algorithms are timed: on the rank's own memory.
struct GemmTiming {
  using Work = std::function<Status()>;
  /// Runs `work`, which queues something in the compute stream, for the first
  /// time.
  std::function<Status(const Work &work)> warmUp;
  /// Seconds that it takes after that, on cold data. It queues `launches`.
  std::function<Status(const Work &work, int64_t launches, double &seconds)>
      time;
  /// Called while another process chooses: whether to go on waiting.
  std::function<bool()> meanwhile;
};

/// The GEMMs of one rank's program.
///
/// A GEMM runs with the fastest of the first algorithms that cuBLASLt's
/// heuristic returns. They are timed when a rank is created, unless the cache
/// (AlgorithmCache.h) has the GEMM. With TP_CUDA_TUNE=0, and without a cache
/// file, it runs with the heuristic's first.
class CublasLtGemms {
public:
  /// Bytes of the GEMMs' workspace on the device.
  static constexpr int64_t workspaceBytes = int64_t(32) << 20;

  static Status create(Device &device, CUdeviceptr workspace, GemmTiming timing,
                       std::unique_ptr<CublasLtGemms> &gemms);
  ~CublasLtGemms();

  /// Plans `gemm` for the rank at `rank` and these addresses. `number`
  /// identifies it to `run`.
  Status prepare(const GemmCommand &gemm, const Coordinates &rank,
                 const GemmAddresses &addresses, AlgorithmCache &cache,
                 size_t &number);
  /// Queues it in `stream`.
  Status run(size_t number, CUstream stream) const {
    return run(plans[number], stream);
  }
  /// The number of library calls.
  int64_t calls(size_t number) const { return plans[number].calls(); }
  /// Whether timing has overwritten results of GEMMs.
  bool hasTimed() const { return timed; }

private:
  /// One call for each of `offsets`, in bytes from a, b, c and the residual.
  struct Plan {
    cublasLtMatmulDesc_t operation = nullptr;
    /// Of b, a, a residual that is not the result, and the result.
    cublasLtMatrixLayout_t first = nullptr, second = nullptr, third = nullptr,
                           result = nullptr;
    cublasLtMatrixLayout_t added() const { return third ? third : result; }
    cublasLtMatmulAlgo_t algorithm = {};
    GemmAddresses addresses;
    std::vector<std::array<int64_t, 4>> offsets;
    int64_t calls() const { return int64_t(offsets.size()) + 1; }
    /// alpha and beta as the scale type has them: of f64, else of f32.
    double wide[2] = {1, 0};
    float narrow[2] = {1, 0};
    bool isWide = false;
    size_t workspaceBytes = size_t(CublasLtGemms::workspaceBytes);
    /// k is 0 and nothing follows: c becomes zero. Rows of the innermost batch.
    int64_t zeroRows = 0, zeroRowBytes = 0, zeroPitch = 0;
    /// k is 0: of the workspace, from which the call then takes its operands.
    int64_t clearedBytes = 0;
  };

  CublasLtGemms(Device &device, CUdeviceptr workspace, GemmTiming timing)
      : device(device), workspace(workspace), timing(std::move(timing)) {}
  static bool chooseByTiming();
  Status layout(cublasLtMatrixLayout_t &made, DataType type, int64_t rows,
                int64_t columns, int64_t ld, int64_t count, int64_t stride);
  static bool isResult(const GemmCommand &gemm, const GemmAddresses &addresses);
  Status prepareSum(const GemmCommand &gemm, const Coordinates &rank,
                    const GemmAddresses &addresses, AlgorithmCache &cache,
                    Plan &plan);
  Status prepareEmptySum(GemmCommand gemm, const Coordinates &rank,
                         GemmAddresses addresses, AlgorithmCache &cache,
                         Plan &plan);
  Status run(const Plan &plan, CUstream stream) const;
  /// Looks into the file of algorithms.
  bool useKept(Plan &plan, const std::string &key, const AlgorithmCache &cache);
  Status askHeuristic(const Plan &plan,
                      const std::array<int64_t, 4> &alignments,
                      std::vector<cublasLtMatmulHeuristicResult_t> &found);
  /// `refused`: the library did not take the call; nothing is broken.
  Status timePlan(const Plan &plan, double &seconds, bool &refused);
  Status choose(Plan &plan, const std::array<int64_t, 4> &alignments,
                const std::string &key, AlgorithmCache &cache);

  Device &device;
  CUdeviceptr workspace;
  std::unique_ptr<CublasLt> library;
  cublasLtHandle_t handle = nullptr;
  std::vector<Plan> plans;
  GemmTiming timing;
  bool timed = false;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_CUBLASLTGEMMS_H
