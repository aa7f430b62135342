//===- KernelPointwise.cpp - kernels without reductions -------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

/// Blocks belong to one box each; a thread takes packets a block apart and
/// reads all of them before it writes.
void KernelBody::pointwise() {
  const SegmentedNest &nest = mapping.nests.front();
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  int64_t perBlock = mapping.block * mapping.perThread, blocks = 0;
  for (const NestBox &box : nest.boxes)
    blocks += llvm::divideCeil(box.packets(), perBlock);
  grid[0] = std::max<int64_t>(blocks, 1);
  bool narrow = grid[0] * perBlock < (int64_t(1) << 31);
  unsigned width = narrow ? 32 : 64;
  Value number = narrow ? blockNumber : wide(blockNumber);
  Value member = narrow ? thread : wide(thread);
  int64_t first = 0;
  for (const NestBox &box : nest.boxes) {
    int64_t count = box.packets(), own = llvm::divideCeil(count, perBlock);
    auto known = emitter.known();
    OpBuilder::InsertionGuard guard(builder);
    Value mine = enterBox(nest, number, first, own);
    Value start = arith::AddIOp::create(
        builder, loc,
        arith::MulIOp::create(builder, loc, mine, integer(perBlock, width)),
        member);
    SmallVector<std::pair<PacketEmitter::Stores, Value>> written;
    for (int64_t turn = 0; turn < mapping.perThread; ++turn) {
      Value packetNumber = start, valid;
      if (turn)
        packetNumber = arith::AddIOp::create(
            builder, loc, start, integer(turn * mapping.block, width));
      if (count % perBlock) {
        valid = less(packetNumber, count);
        packetNumber = arith::MinUIOp::create(builder, loc, packetNumber,
                                              integer(count - 1, width));
      }
      emitter.isOwn = valid;
      int64_t operations = elementsOf(loopNest, pointOf(box, packetNumber));
      if (turn == 0)
        flops += operations * count;
      written.push_back({emitter.take(), valid});
    }
    for (auto &[stores, valid] : written)
      emitter.flush(stores, valid, valid);
    emitter.isOwn = {};
    emitter.restore(std::move(known));
    emitter.loads.clear();
    first += own;
  }
}

/// Computes the elements of a packet of rows and loop nest together, and says
/// how many operations on floats that takes.
int64_t KernelBody::elementsOf(const LoopNest &loopNest, const Point &point) {
  int64_t before = emitter.floatOperations;
  emitter.vector = point.vector;
  emitter.dim = point.dim;
  for (int64_t lane = 0; lane < point.vector; ++lane) {
    // The rows' dims come first.
    current = point.at;
    if (lane)
      current.back() = current.back() + lane;
    emitter.lane = lane;
    computeLoops(loopNest, {});
  }
  return emitter.floatOperations - before;
}
