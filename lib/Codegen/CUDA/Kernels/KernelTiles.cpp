//===- KernelTiles.cpp - kernels that transpose ---------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What lies side by side along another loop than the one that is written along
// goes through a tile in shared memory: threads read it along its loop, wait,
// and compute along the other. Which loads these are is told by the code of an
// element, which is first emitted to be thrown away.
//
//===----------------------------------------------------------------------===//

#include "CUDA/Mapping/Access.h"
#include "KernelBody.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tp::cuda;
using namespace tp::target;

namespace {
/// Loads of one value that differ in the place in the tile alone.
struct Staged {
  Value value;
  /// Of lane 0 at the tile's beginning.
  LinearForm form;
  /// Elements between neighbours along the loop that is written along.
  int64_t across;
  int64_t bytes;
  /// Bytes from the beginning of shared memory; elements between rows.
  int64_t offset, pitch;
  Type type;
};

/// A box cut into tiles of `along` by `across` elements: along the loop
/// that is written along and the one that is read along.
struct Tiling {
  const NestBox &box;
  unsigned last, other;
  int64_t along, across;
  int64_t alongTiles, acrossTiles, outer = 1;

  Tiling(const NestBox &box, unsigned other, int64_t edge)
      : box(box), last(box.extents.size() - 1), other(other),
        along(std::min(edge, box.extents.back())),
        across(std::min(edge, box.extents[other])) {
    alongTiles = llvm::divideCeil(box.extents.back(), along);
    acrossTiles = llvm::divideCeil(box.extents[other], across);
    for (unsigned i = 0; i < last; ++i)
      if (i != other)
        outer *= box.extents[i];
  }
  int64_t tiles() const { return outer * alongTiles * acrossTiles; }
};
} // namespace

/// The widest access to `staged` along its loop.
static int64_t accessWidth(const Staged &staged, int64_t extent, int64_t tile) {
  int64_t width = accessBytes / staged.bytes;
  auto divides = [&](int64_t stride) { return stride % width == 0; };
  auto fits = [&] {
    if (!divides(extent) || !divides(tile) || !divides(staged.form.constant) ||
        !divides(staged.across))
      return false;
    return llvm::all_of(staged.form.dimStrides, divides);
  };
  while (width > 1 && !fits())
    width /= 2;
  return width;
}

void KernelBody::tiles(Value shared) {
  const SegmentedNest &nest = mapping.nests.front();
  const LoopNest &loopNest = fusedKernel.loopNests.front();
  int64_t blocks = 0;
  for (const NestBox &box : nest.boxes)
    blocks += Tiling(box, mapping.tileLoop, mapping.tile).tiles();
  grid[0] = std::max<int64_t>(blocks, 1);
  int64_t first = 0;
  for (const NestBox &box : nest.boxes) {
    Tiling tiling(box, mapping.tileLoop, mapping.tile);
    auto known = emitter.known();
    OpBuilder::InsertionGuard guard(builder);
    Value mine = enterBox(nest, wide(blockNumber), first, tiling.tiles());
    first += tiling.tiles();

    unsigned last = tiling.last, other = tiling.other;
    int64_t vector = box.vector, packets = tiling.along / vector;
    // The tile's place: outer loops, then tiles.
    SmallVector<int64_t> counts(box.extents);
    counts[other] = tiling.acrossTiles;
    counts[last] = tiling.alongTiles;
    Indices outer = split(mine, counts);
    auto startOf = [&](unsigned loop, int64_t step) -> Value {
      auto dim = dyn_cast<AffineDimExpr>(outer[loop]);
      if (!dim)
        return integer(0);
      Value number = arith::TruncIOp::create(builder, loc, builder.getI32Type(),
                                             emitter.dims[dim.getPosition()]);
      return arith::MulIOp::create(builder, loc, number, integer(step));
    };
    Value alongStart = startOf(last, packets),
          acrossStart = startOf(other, tiling.across);
    /// `local` plus `start`, at most the last of `extent`.
    auto clamped = [&](Value local, Value start, int64_t step,
                       int64_t extent) -> Value {
      Value at = arith::AddIOp::create(builder, loc, local, start);
      if (extent % step == 0)
        return at;
      return arith::MinUIOp::create(builder, loc, at, integer(extent - 1));
    };
    auto quotient = [&](Value number, int64_t by) -> std::pair<Value, Value> {
      return {arith::DivUIOp::create(builder, loc, number, integer(by)),
              arith::RemUIOp::create(builder, loc, number, integer(by))};
    };

    // A thread's packet in one turn.
    struct Place {
      Point point;
      unsigned alongDim, acrossDim;
      Value along, across;
    };
    int64_t pieces = packets * tiling.across;
    int64_t allPackets = box.extents[last] / vector;
    auto placeOf = [&](int64_t turn) {
      Place place;
      Value number = thread;
      if (turn)
        number = arith::AddIOp::create(builder, loc, thread,
                                       integer(turn * mapping.block));
      if (pieces % mapping.block) {
        place.point.valid = less(number, pieces);
        number =
            arith::MinUIOp::create(builder, loc, number, integer(pieces - 1));
      }
      auto [row, column] = quotient(number, packets);
      auto checked = [&](Value local, Value start, int64_t step,
                         int64_t extent) -> Value {
        if (extent % step)
          place.point.valid = both(
              place.point.valid,
              less(arith::AddIOp::create(builder, loc, local, start), extent));
        return clamped(local, start, step, extent);
      };
      Value along = checked(column, alongStart, packets, allPackets);
      Value across =
          checked(row, acrossStart, tiling.across, box.extents[other]);
      AffineExpr alongExpr = emitter.addDim(wide(along), {0, allPackets - 1}),
                 acrossExpr =
                     emitter.addDim(wide(across), {0, box.extents[other] - 1});
      place.alongDim = cast<AffineDimExpr>(alongExpr).getPosition();
      place.acrossDim = cast<AffineDimExpr>(acrossExpr).getPosition();
      place.point.vector = vector;
      place.point.dim = place.alongDim;
      for (unsigned i = 0; i <= last; ++i)
        place.point.at.push_back((i == last    ? alongExpr * vector
                                  : i == other ? acrossExpr
                                               : outer[i]) +
                                 box.lo[i]);
      place.along = arith::SubIOp::create(builder, loc, along, alongStart);
      place.across = arith::SubIOp::create(builder, loc, across, acrossStart);
      return place;
    };

    std::vector<Staged> staged;
    int64_t used = 0;
    /// The load of `value` at `address` as one of a tile, at lane 0.
    auto formOf = [&](Value value, AffineExpr address,
                      const Place &place) -> std::optional<Staged> {
      auto form = linearForm(address, emitter.dims.size(),
                             emitter.space.symbols.size());
      if (!form || form->dimStrides[place.acrossDim] != 1 ||
          llvm::any_of(form->symbolStrides,
                       [](int64_t stride) { return stride != 0; }))
        return std::nullopt;
      int64_t stride = form->dimStrides[place.alongDim];
      if (stride % vector || stride / vector == 0 || stride / vector == 1)
        return std::nullopt;
      Staged result;
      result.value = value;
      result.across = stride / vector;
      form->constant -= emitter.lane * result.across;
      form->dimStrides[place.alongDim] = form->dimStrides[place.acrossDim] = 0;
      form->symbolStrides.clear();
      result.form = std::move(*form);
      return result;
    };
    auto find = [&](const Staged &wanted) -> Staged * {
      for (Staged &one : staged) {
        auto strideAt = [](const Staged &s, size_t dim) {
          return dim < s.form.dimStrides.size() ? s.form.dimStrides[dim] : 0;
        };
        bool same = one.value == wanted.value && one.across == wanted.across &&
                    one.form.constant == wanted.form.constant;
        for (size_t i = 0; same && i < emitter.dims.size(); ++i)
          same = strideAt(one, i) == strideAt(wanted, i);
        if (same)
          return &one;
      }
      return nullptr;
    };

    // Which loads these are: the code of one packet, thrown away.
    {
      auto before = emitter.known();
      auto loads = emitter.loads;
      int64_t operations = emitter.floatOperations;
      auto trial = scf::IfOp::create(builder, loc, less(thread, 1),
                                     /*withElseRegion=*/false);
      OpBuilder::InsertionGuard inside(builder);
      builder.setInsertionPointToStart(trial.thenBlock());
      Place place = placeOf(0);
      emitter.held = [&](Value value, AffineExpr address) -> Value {
        auto one = formOf(value, address, place);
        if (!one || find(*one))
          return {};
        Type element = cast<RankedTensorType>(value.getType()).getElementType();
        one->type = memoryType(element);
        one->bytes = elementBytes(element);
        // Neighbours in a row start in different banks, of four bytes each.
        constexpr int64_t bankBytes = 4;
        one->pitch =
            tiling.across + std::max<int64_t>(bankBytes / one->bytes, 1);
        one->offset = used;
        int64_t bytes =
            llvm::alignTo(tiling.along * one->pitch * one->bytes, accessBytes);
        if (used + bytes > mostSharedBytes)
          return {};
        used += bytes;
        staged.push_back(std::move(*one));
        return {};
      };
      elementsOf(loopNest, place.point);
      emitter.held = nullptr;
      emitter.take();
      emitter.floatOperations = operations;
      emitter.restore(std::move(before));
      emitter.loads = std::move(loads);
      trial.erase();
    }
    sharedUsed = std::max(sharedUsed, used);

    auto slot = [&](const Staged &one, Value row, Value column) -> Value {
      Value at = arith::AddIOp::create(
          builder, loc,
          arith::MulIOp::create(builder, loc, row, integer(one.pitch)), column);
      Value offset = arith::AddIOp::create(
          builder, loc,
          arith::MulIOp::create(builder, loc, at, integer(one.bytes)),
          integer(one.offset));
      return LLVM::GEPOp::create(builder, loc, shared.getType(),
                                 builder.getI8Type(), shared,
                                 ArrayRef<LLVM::GEPArg>{offset});
    };
    // All reads first, then they are kept: rows of the tile, along which was
    // read, side by side.
    struct Kept {
      const Staged *staged;
      Value row, column, loaded;
      int64_t width;
      Value valid;
    };
    SmallVector<Kept> kept;
    for (const Staged &one : staged) {
      int64_t extent = box.extents[other];
      int64_t width = accessWidth(one, extent, tiling.across);
      int64_t perRow = tiling.across / width, all = perRow * tiling.along;
      for (int64_t from = 0; from < all; from += mapping.block) {
        Value number = thread, valid;
        if (from)
          number = arith::AddIOp::create(builder, loc, thread, integer(from));
        if (from + mapping.block > all) {
          valid = less(number, all);
          number =
              arith::MinUIOp::create(builder, loc, number, integer(all - 1));
        }
        auto [row, column] = quotient(number, perRow);
        Value start =
            arith::DivUIOp::create(builder, loc, acrossStart, integer(width));
        Value elementStart =
            arith::MulIOp::create(builder, loc, alongStart, integer(vector));
        AffineExpr across =
            emitter.addDim(wide(clamped(column, start, perRow, extent / width)),
                           {0, extent / width - 1});
        AffineExpr along = emitter.addDim(
            wide(clamped(row, elementStart, tiling.along, box.extents[last])),
            {0, box.extents[last] - 1});
        AffineExpr address =
            along * one.across + across * width + one.form.constant;
        for (auto [dim, stride] : llvm::enumerate(one.form.dimStrides))
          if (stride)
            address =
                address + getAffineDimExpr(dim, builder.getContext()) * stride;
        kept.push_back(
            {&one, row,
             arith::MulIOp::create(builder, loc, column, integer(width)),
             emitter.loadNeighbours(one.value, address, width), width, valid});
      }
    }
    for (const Kept &load : kept) {
      const Staged &one = *load.staged;
      // Rows begin at multiples of a bank.
      constexpr int64_t bankBytes = 4;
      int64_t unit =
          std::min(load.width, std::max<int64_t>(bankBytes / one.bytes, 1));
      OpBuilder::InsertionGuard inside(builder);
      if (load.valid) {
        auto branch = scf::IfOp::create(builder, loc, load.valid,
                                        /*withElseRegion=*/false);
        builder.setInsertionPointToStart(branch.thenBlock());
      }
      auto place = [&](int64_t lane) {
        return arith::ConstantOp::create(builder, loc,
                                         builder.getI32IntegerAttr(lane));
      };
      for (int64_t lane = 0; lane < load.width; lane += unit) {
        Value part = load.loaded;
        auto element = [&](int64_t at) -> Value {
          return LLVM::ExtractElementOp::create(builder, loc, load.loaded,
                                                place(at));
        };
        if (load.width > 1 && unit == 1) {
          part = element(lane);
        } else if (unit < load.width) {
          part = LLVM::UndefOp::create(builder, loc,
                                       VectorType::get({unit}, one.type));
          for (int64_t i = 0; i < unit; ++i)
            part = LLVM::InsertElementOp::create(builder, loc, part,
                                                 element(lane + i), place(i));
        }
        Value column = load.column;
        if (lane)
          column = arith::AddIOp::create(builder, loc, column, integer(lane));
        LLVM::StoreOp::create(builder, loc, part, slot(one, load.row, column),
                              unit * one.bytes);
      }
    }
    if (!staged.empty())
      NVVM::Barrier0Op::create(builder, loc);

    SmallVector<std::pair<PacketEmitter::Stores, Value>> written;
    for (int64_t turn = 0; turn * mapping.block < pieces; ++turn) {
      Place place = placeOf(turn);
      emitter.held = [&](Value value, AffineExpr address) -> Value {
        auto one = formOf(value, address, place);
        const Staged *found = one ? find(*one) : nullptr;
        if (!found)
          return {};
        Value row = arith::AddIOp::create(
            builder, loc,
            arith::MulIOp::create(builder, loc, place.along, integer(vector)),
            integer(emitter.lane));
        return LLVM::LoadOp::create(builder, loc, found->type,
                                    slot(*found, row, place.across),
                                    found->bytes);
      };
      emitter.isOwn = place.point.valid;
      int64_t operations = elementsOf(loopNest, place.point);
      if (turn == 0)
        flops += operations * box.packets();
      written.push_back({emitter.take(), place.point.valid});
    }
    emitter.held = nullptr;
    emitter.isOwn = {};
    for (auto &[stores, valid] : written)
      emitter.flush(stores, valid, valid);
    emitter.restore(std::move(known));
    emitter.loads.clear();
  }
}
