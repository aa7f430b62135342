//===- NvtxRange.h - named ranges for profilers -----------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_CUDA_NVTXRANGE_H
#define TP_RUNTIME_CUDA_NVTXRANGE_H

namespace tp::runtime::cuda {

/// The NVTX calls of a profiler (Nsight Systems), which names its library in
/// NVTX_INJECTION64_PATH. The library is loaded at first use. Without one, the
/// calls do nothing.
class Nvtx {
public:
  static const Nvtx &get();

  /// Whether a profiler is there. If not, the caller need not make names.
  bool wanted() const { return push != nullptr; }
  void begin(const char *name) const {
    if (push)
      push(name);
  }
  void end() const {
    if (push && pop)
      pop();
  }

private:
  Nvtx();
  int (*push)(const char *) = nullptr;
  int (*pop)() = nullptr;
};

/// From here to the end of the block.
class NvtxRange {
public:
  explicit NvtxRange(const char *name) { Nvtx::get().begin(name); }
  ~NvtxRange() { Nvtx::get().end(); }
  NvtxRange(const NvtxRange &) = delete;
};

} // namespace tp::runtime::cuda

#endif // TP_RUNTIME_CUDA_NVTXRANGE_H
