//===- Commands.cpp - commands in the manifest ----------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MakeManifest.h"
#include "Schedule/CommandQueues.h"
#include "tp/IR/CustomOps.h"
#include "tp/IR/Program.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tp::target;
namespace rt = tp::runtime;

namespace {
class CommandDescriber {
public:
  CommandDescriber(const ManifestSource &program,
                   const CollectiveTables &tables)
      : program(program), tables(tables),
        buffers(program.function, program.constantsAt) {}

  FailureOr<std::vector<rt::Command>> describe(Block &block) const;

private:
  using What = decltype(rt::Command::what);
  FailureOr<What> describe(tp::GemmOp op) const;
  FailureOr<What> describe(tp::AttentionOp op) const;
  FailureOr<What> describe(tp::CallOp op) const;
  rt::CallTensor describeTensor(tp::CallOp op, unsigned number) const;
  What describe(tp::LaunchOp op) const;

  const ManifestSource &program;
  const CollectiveTables &tables;
  Buffers buffers;
};

/// A strided memref: from where on, and the stride of each dimension.
struct Strides {
  int64_t offset = 0;
  SmallVector<int64_t> strides;
};
} // namespace

static Strides stridesOf(MemRefType type) {
  Strides result;
  [[maybe_unused]] LogicalResult known =
      type.getStridesAndOffset(result.strides, result.offset);
  assert(succeeded(known) && "the op's verifier asks for strides");
  return result;
}

rt::BufferRef tp::target::bufferRef(const Buffers &buffers, Value buffer,
                                    bool wholeBuffer) {
  BufferPlace place = buffers.placeOf(buffer);
  rt::BufferRef result;
  result.offset = place.offset;
  if (!wholeBuffer) {
    auto type = cast<MemRefType>(buffer.getType());
    SmallVector<int64_t> strides;
    int64_t offset = 0;
    if (succeeded(type.getStridesAndOffset(strides, offset)))
      result.offset += offset * elementBytes(type.getElementType());
  }
  result.index = place.index;
  switch (place.space) {
  case Space::Argument:
    result.space = rt::Space::Argument;
    return result;
  case Space::Result:
    result.space = rt::Space::Result;
    return result;
  case Space::Arena:
    result.space = rt::Space::Arena;
    return result;
  case Space::Constant:
    result.space = rt::Space::Constant;
    return result;
  case Space::Carried:
    result.space = rt::Space::Carried;
    return result;
  case Space::Scratch:
    break;
  }
  llvm_unreachable("scratch is within a kernel");
}

/// The k of every rank as a function of the axes along which it differs.
static rt::ShortenedK describeK(const tp::Mesh &mesh,
                                ArrayRef<int64_t> kOfRank) {
  rt::ShortenedK shortened;
  SmallVector<tp::AxisPart> axes;
  for (unsigned axis = 0; axis < mesh.axes.size(); ++axis) {
    auto differs = [&](const std::vector<int64_t> &ranks) {
      return llvm::any_of(ranks, [&](int64_t rank) {
        return kOfRank[rank] != kOfRank[ranks.front()];
      });
    };
    tp::AxisPart whole = mesh.wholeAxis(axis);
    if (!llvm::any_of(mesh.groups(whole), differs))
      continue;
    axes.push_back(whole);
    shortened.axes.push_back(describePart(mesh, whole));
  }
  for (int64_t position = 0; position < rt::sizeOf(shortened.axes); ++position)
    shortened.sizes.push_back(kOfRank[mesh.rankAlong(axes, position)]);
  return shortened;
}

/// The last two dimensions as a matrix of a BLAS: its rows or its columns are
/// contiguous. The others are the batch's.
static std::optional<rt::GemmOperand> matrixOf(const Buffers &buffers,
                                               Value value, bool mayTranspose) {
  auto type = cast<MemRefType>(value.getType());
  Strides place = stridesOf(type);
  int64_t columns = type.getShape().back(), columnStride = place.strides.back();
  int64_t rows = type.getShape().drop_back().back();
  int64_t rowStride = ArrayRef(place.strides).drop_back().back();
  rt::GemmOperand operand;
  operand.buffer = bufferRef(buffers, value);
  operand.batchStrides = ArrayRef(place.strides).drop_back(2).vec();
  if ((columnStride == 1 || columns == 1) &&
      (rows == 1 || rowStride >= columns)) {
    operand.transpose = false;
    operand.ld = rows == 1 ? std::max<int64_t>(columns, 1) : rowStride;
    return operand;
  }
  if (!mayTranspose || !(rowStride == 1 || rows == 1) ||
      !(columns == 1 || columnStride >= rows))
    return std::nullopt;
  operand.transpose = true;
  operand.ld = columns == 1 ? std::max<int64_t>(rows, 1) : columnStride;
  return operand;
}

FailureOr<CommandDescriber::What>
CommandDescriber::describe(tp::GemmOp op) const {
  auto a = cast<MemRefType>(op.getA().getType());
  auto c = cast<MemRefType>(op.getC().getType());
  auto elementsOf = [](Value value) {
    return cast<MemRefType>(value.getType()).getElementType();
  };
  rt::GemmCommand command;
  command.dtype = dataTypeOf(a.getElementType());
  command.tf32 = program.tf32 && a.getElementType().isF32();
  command.cDtype = dataTypeOf(c.getElementType());
  command.m = c.getShape().drop_back().back();
  command.n = c.getShape().back();
  command.k = a.getShape().back();
  command.batch = c.getShape().drop_back(2).vec();
  command.bDtype = dataTypeOf(elementsOf(op.getB()));
  for (Value term : {op.getResidual(), op.getBias()})
    if (term && elementsOf(term) != c.getElementType())
      return op.emitOpError("expected what is added to have the result's "
                            "element type, got ")
             << elementsOf(term);
  if (std::optional<ArrayRef<int64_t>> kOfRank = op.getKOfRank()) {
    if (int64_t(kOfRank->size()) != program.mesh.numRanks())
      return op.emitOpError("expected a k for each of ")
             << program.mesh.numRanks() << " ranks, got " << kOfRank->size();
    command.shortened = describeK(program.mesh, *kOfRank);
  }
  command.alpha = op.getAlpha().convertToDouble();
  command.beta = op.getBeta().convertToDouble();
  for (auto [value, operand, mayTranspose] :
       {std::tuple(op.getA(), &command.a, true),
        std::tuple(op.getB(), &command.b, true),
        std::tuple(op.getC(), &command.c, false)}) {
    std::optional<rt::GemmOperand> matrix =
        matrixOf(buffers, value, mayTranspose);
    if (!matrix)
      return op.emitOpError("expected contiguous rows or columns, got ")
             << value.getType();
    *operand = std::move(*matrix);
  }
  if (op.getResidual()) {
    command.residual = matrixOf(buffers, op.getResidual(), false);
    if (!command.residual)
      return op.emitOpError("expected contiguous rows, got ")
             << op.getResidual().getType();
  }
  if (op.getBias()) {
    if (stridesOf(cast<MemRefType>(op.getBias().getType())).strides !=
            SmallVector<int64_t>{1} &&
        command.n > 1)
      return op.emitOpError("expected a contiguous bias, got ")
             << op.getBias().getType();
    command.bias = bufferRef(buffers, op.getBias());
  }
  for (auto [value, mask] : {std::pair(op.getRows(), &command.rows),
                             std::pair(op.getTerms(), &command.terms)})
    if (value)
      *mask = {
          bufferRef(buffers, value),
          ArrayRef(stridesOf(cast<MemRefType>(value.getType())).strides).vec()};
  if (op.getPlaces()) {
    auto type = cast<MemRefType>(op.getPlaces().getType());
    command.lookup = {bufferRef(buffers, op.getPlaces()),
                      ArrayRef(stridesOf(type).strides).vec(),
                      command.b.batchStrides.front(),
                      cast<MemRefType>(op.getB().getType()).getDimSize(0)};
    command.b.batchStrides.assign(command.batch.size(), 0);
  }
  if (op.getGelu())
    command.activation = rt::Activation::GeluTanh;
  return What(std::move(command));
}

FailureOr<CommandDescriber::What>
CommandDescriber::describe(tp::AttentionOp op) const {
  FailureOr<rt::AttentionCommand> command = describeAttention(op, buffers);
  if (failed(command))
    return failure();
  FailureOr<std::vector<rt::Command>> steps = describe(op.getSteps().front());
  if (failed(steps))
    return failure();
  command->steps = std::move(*steps);
  return What(std::move(*command));
}

rt::CallTensor CommandDescriber::describeTensor(tp::CallOp op,
                                                unsigned number) const {
  auto type = cast<MemRefType>(op->getOperand(number).getType());
  rt::CallTensor tensor;
  tensor.buffer = bufferRef(buffers, op->getOperand(number));
  tensor.dtype = dataTypeOf(type.getElementType());
  llvm::append_range(tensor.strides, stridesOf(type).strides);
  for (auto [dim, size] : llvm::enumerate(type.getShape())) {
    int64_t which = -1;
    if (op.getValidDims())
      which = cast<DenseI64ArrayAttr>((*op.getValidDims())[number])[dim];
    rt::CallSize &described = tensor.sizes.emplace_back();
    described.most = size;
    if (which < 0)
      continue;
    described.shortened = describeK(
        program.mesh,
        cast<DenseI64ArrayAttr>((*op.getValid())[which]).asArrayRef());
    described.most = *llvm::max_element(described.shortened->sizes);
  }
  return tensor;
}

FailureOr<CommandDescriber::What>
CommandDescriber::describe(tp::CallOp op) const {
  for (Attribute counts :
       op.getValid().value_or(Builder(op.getContext()).getArrayAttr({})))
    if (cast<DenseI64ArrayAttr>(counts).size() != program.mesh.numRanks())
      return op.emitOpError("expected a count for each of ")
             << program.mesh.numRanks() << " ranks, got " << counts;
  rt::CallCommand command;
  command.op = op.getOpName().str();
  unsigned numInputs = op.getInputs().size();
  for (unsigned number = 0; number < op->getNumOperands(); ++number)
    (number < numInputs ? command.inputs : command.outputs)
        .push_back(describeTensor(op, number));
  for (NamedAttribute named : op.getOpAttributes()) {
    tp::CustomAttribute read = *tp::CustomAttribute::of(named);
    rt::CallAttribute &attribute = command.attributes.emplace_back();
    attribute.name = read.name;
    if (read.text)
      attribute.value = *read.text;
    else if (read.isFloat)
      attribute.value = read.numbers;
    else
      attribute.value = read.integers;
  }
  return What(std::move(command));
}

CommandDescriber::What CommandDescriber::describe(tp::LaunchOp op) const {
  rt::KernelCommand kernel;
  kernel.function = op.getFunction().str();
  for (Value buffer : op.getBuffers())
    kernel.buffers.push_back(bufferRef(buffers, buffer, /*wholeBuffer=*/true));
  if (!op.getGrid())
    return kernel;
  llvm::copy(*op.getGrid(), kernel.launch.grid.begin());
  llvm::copy(*op.getBlock(), kernel.launch.block.begin());
  kernel.launch.sharedBytes = op.getShared();
  kernel.launch.flops = op.getFlops();
  kernel.launch.bytes = op.getBytes();
  // Other queues need not wait for more than what a kernel does with the
  // memory of each parameter.
  for (auto [buffer, read, written] :
       llvm::zip_equal(op.getBuffers(), op.getRead(), op.getWritten())) {
    rt::BufferAccess access;
    access.bytes = bytesOf(cast<MemRefType>(rootBuffer(buffer).getType()));
    access.reads = read;
    access.writes = written;
    kernel.launch.accesses.push_back(access);
  }
  return kernel;
}

FailureOr<std::vector<rt::Command>>
CommandDescriber::describe(Block &block) const {
  std::vector<rt::Command> commands;
  for (Operation &op : block) {
    using Result = FailureOr<std::optional<What>>;
    auto some = [](FailureOr<What> what) -> Result {
      if (failed(what))
        return failure();
      return std::optional(std::move(*what));
    };
    Result what =
        llvm::TypeSwitch<Operation *, Result>(&op)
            .Case([&](tp::GemmOp gemm) { return some(describe(gemm)); })
            .Case([&](tp::AttentionOp attention) {
              return some(describe(attention));
            })
            .Case([&](tp::AttentionBackwardOp backward) -> Result {
              auto command = describeAttention(backward, buffers);
              if (failed(command))
                return failure();
              return std::optional(What(std::move(*command)));
            })
            .Case([&](tp::CallOp call) { return some(describe(call)); })
            .Case([&](tp::LaunchOp launch) { return some(describe(launch)); })
            .Case([&](tp::CommunicateOp communicate) {
              return some(What(tables.commands.find(communicate)->second));
            })
            .Case([&](tp::KernelOp kernel) -> Result {
              return kernel.emitOpError(
                  "has no code: expected tp.launch in its place");
            })
            .Default([](Operation *) { return Result(std::nullopt); });
    if (failed(what))
      return failure();
    if (!*what)
      continue;
    tp::SourceName name = tp::sourceNameOf(op.getLoc());
    commands.emplace_back();
    commands.back().what = std::move(**what);
    commands.back().module = name.module;
    commands.back().location = name.location;
  }
  return commands;
}

FailureOr<std::vector<rt::Command>>
tp::target::describeCommands(const ManifestSource &program,
                             const CollectiveTables &tables) {
  func::FuncOp function = program.function;
  return CommandDescriber(program, tables).describe(function.front());
}

static rt::Queue queueOf(tp::Queue queue) {
  switch (queue) {
  case tp::Queue::Compute:
    return rt::Queue::Compute;
  case tp::Queue::Communication:
    return rt::Queue::Communication;
  }
  llvm_unreachable("unknown queue");
}

LogicalResult tp::target::describeQueues(const ManifestSource &program,
                                         rt::Entry &entry) {
  if (!namesQueues(program.function))
    return success();
  FailureOr<CommandQueues> queues = readQueues(program.function);
  if (failed(queues))
    return failure();
  auto number = [](std::optional<unsigned> command) {
    return command ? std::optional(int64_t(*command)) : std::nullopt;
  };
  for (auto [command, queued] :
       llvm::zip_equal(entry.program, queues->commands)) {
    command.queue = queueOf(queued.queue);
    command.waitFor = number(queued.waitFor);
    command.withPrevious = queued.withPrevious;
  }
  entry.endWaitsFor = number(queues->endWaitsFor);
  return success();
}
