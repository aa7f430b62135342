//===- KernelBody.h - the code of one kernel --------------------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_LIB_CODEGEN_CUDA_KERNELS_KERNELBODY_H
#define TP_LIB_CODEGEN_CUDA_KERNELS_KERNELBODY_H

#include "CUDA/Mapping/KernelMapping.h"
#include "CUDA/Mapping/ThreadGroup.h"
#include "PacketEmitter.h"

namespace tp::cuda {

/// Words of device memory, one symbol for all kernels of the module, by which
/// blocks find out which of them ends last.
inline constexpr llvm::StringLiteral ticketSymbol = "tp_tickets";

/// Row scratch: one row's elements of a value.
struct RowMemory {
  mlir::Value value;
  mlir::AffineMap address;
  int64_t bytes = 0;
};

class KernelBody {
public:
  KernelBody(const target::StoredValues &plan, target::AssertTable &asserts,
             const target::FusedKernel &fusedKernel,
             const KernelMapping &mapping, mlir::OpBuilder &builder,
             mlir::Location loc)
      : plan(plan), fusedKernel(fusedKernel), mapping(mapping),
        builder(builder), loc(loc), emitter(plan, asserts, builder, loc) {}

  /// Values of a row that need memory; offsets are set by `emit`.
  llvm::SmallVector<RowMemory> rowMemory;
  /// Two values share a parameter: reads of what other threads write have to
  /// come before, between loop nests and where threads compute one element.
  bool overwrites = false;

  /// Emits the whole kernel at the builder's place. `shared` is the address of
  /// shared memory.
  void emit(mlir::Value shared);

  PacketEmitter &elements() { return emitter; }
  std::array<int64_t, 3> grid = {1, 1, 1}, block = {1, 1, 1};
  int64_t sharedBytes = 0, scratchBytes = 0, flops = 0;

private:
  /// The place of a packet: an expression per kernel dim, of lane 0.
  struct Point {
    target::Indices at;
    int64_t vector = 1;
    unsigned dim = 0;
    /// Null: every thread has one.
    mlir::Value valid;
  };

  mlir::Value integer(int64_t value, unsigned width = 32);
  mlir::Value less(mlir::Value a, int64_t b);
  mlir::Value both(mlir::Value a, mlir::Value b);
  mlir::Value wide(mlir::Value value);
  target::Indices split(mlir::Value number, llvm::ArrayRef<int64_t> extents);
  Point pointOf(const NestBox &box, mlir::Value packet);
  Point heldPoint(const SegmentedNest &nest, unsigned box, int64_t trip);
  target::Indices over(const target::ComputeLoop &computeLoop,
                       llvm::ArrayRef<mlir::AffineExpr> exprs);
  void enter(const Point &point, int64_t lane);

  llvm::SmallVector<mlir::Value>
  strided(mlir::Value first, int64_t step, int64_t count,
          llvm::ArrayRef<mlir::Value> accumulators,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                            mlir::ValueRange)>
              inside,
          int64_t begin = 0);
  llvm::SmallVector<mlir::Value>
  unrolled(mlir::Value first, int64_t step, int64_t count,
           llvm::ArrayRef<mlir::Value> accumulators,
           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                             mlir::ValueRange)>
               inside);
  llvm::SmallVector<mlir::Value>
  packet(const target::LoopNest &loopNest, const Point &point,
         llvm::ArrayRef<mlir::Value> accumulators);
  llvm::SmallVector<mlir::Value>
  computeLoops(const target::LoopNest &loopNest,
               llvm::ArrayRef<mlir::Value> accumulators);
  mlir::Value init(const target::ComputeLoop &computeLoop, unsigned position);
  mlir::Value enterBox(const SegmentedNest &nest, mlir::Value number,
                       int64_t first, int64_t own);
  void storeReductions(
      const target::LoopNest &loopNest,
      llvm::function_ref<mlir::Value(const target::ComputeLoop &computeLoop,
                                     unsigned position, unsigned number)>
          resultOf);

  void pointwise();
  int64_t elementsOf(const target::LoopNest &loopNest, const Point &point);
  void tiles(mlir::Value shared);
  void rows(mlir::Value shared);
  void row(mlir::Value shared);
  void followingLoopNests(unsigned first, mlir::Value shared);
  void splitRows(mlir::Value shared);
  mlir::Value isLastOf(int64_t splitFactor, mlir::Value number,
                       mlir::Value slot);
  void setPartialBytes(llvm::ArrayRef<mlir::Value> values);
  mlir::Value partial(int64_t accumulator, int64_t splitFactor,
                      mlir::Value part, int64_t owners, mlir::Value owner);
  using SlotOf =
      llvm::function_ref<mlir::Value(unsigned accumulator, mlir::Value part)>;
  void storePartials(llvm::ArrayRef<mlir::Value> values, mlir::Value part,
                     mlir::Value member, SlotOf slotOf);
  llvm::SmallVector<mlir::Value>
  combinePartials(llvm::ArrayRef<Combiner> combiners, size_t count,
                  mlir::Value member, SlotOf slotOf);
  void loopNest(unsigned number, mlir::Value shared);
  void parallelLoopNest(const target::LoopNest &loopNest,
                        const SegmentedNest &nest);
  void columns(mlir::Value shared);
  void scatter();
  void storeStarts(const Point &point, mlir::Value begin, mlir::Value end);
  void addUpdates(const Point &point, mlir::Value begin, mlir::Value end);
  void addTo(const Point &point, llvm::ArrayRef<mlir::Value> places,
             mlir::Value begin, mlir::Value end);
  llvm::SmallVector<mlir::Value> placesOf(const Point &point,
                                          mlir::Value update);
  void enterElement(const Point &point, int64_t lane);
  void counted(mlir::Value from, mlir::Value to,
               llvm::function_ref<void(mlir::Value)> inside);
  void combineWarps(llvm::ArrayRef<Combiner> combiners,
                    llvm::MutableArrayRef<mlir::Value> values, mlir::Value lane,
                    mlir::Value shared);
  bool placeRowMemory(mlir::Value shared, mlir::Value threadGroup);

  const target::StoredValues &plan;
  const target::FusedKernel &fusedKernel;
  const KernelMapping &mapping;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  PacketEmitter emitter;

  mlir::Value thread, blockNumber;
  /// Rows: the thread in its thread group, the thread group in its block, and
  /// whether the row is one.
  mlir::Value member, groupInBlock, rowValid;
  /// Of one partial result in scratch.
  int64_t partialBytes = slotBytes;
  /// Of the context, once it is asked for.
  mlir::Value scratch;
  /// Per kernel dim where the current element is.
  target::Indices current;
  int64_t sharedUsed = 0;
  /// How often the code being emitted runs.
  int64_t runs = 1;
  std::map<std::tuple<const void *, unsigned, int64_t>, Point> points;
  std::vector<const SegmentedNest *> canonical;
};

} // namespace tp::cuda

#endif // TP_LIB_CODEGEN_CUDA_KERNELS_KERNELBODY_H
