//===- MakeManifest.cpp - the artifact's manifest -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MakeManifest.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/PortAttributes.h"
#include <numeric>

using namespace mlir;
using namespace tp::target;
namespace rt = tp::runtime;

rt::DataType tp::target::dataTypeOf(Type type) {
  if (type.isF64())
    return rt::DataType::F64;
  if (type.isF32())
    return rt::DataType::F32;
  if (type.isF16())
    return rt::DataType::F16;
  if (type.isBF16())
    return rt::DataType::BF16;
  if (type.isIndex())
    return rt::DataType::Index;
  if (isa<Float8E4M3FNType>(type))
    return rt::DataType::F8E4M3FN;
  if (isa<Float8E5M2Type>(type))
    return rt::DataType::F8E5M2;
  if (isa<Float8E4M3FNUZType>(type))
    return rt::DataType::F8E4M3FNUZ;
  if (isa<Float8E5M2FNUZType>(type))
    return rt::DataType::F8E5M2FNUZ;
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return rt::DataType::I1;
  case 8:
    return rt::DataType::I8;
  case 16:
    return rt::DataType::I16;
  case 32:
    return rt::DataType::I32;
  default:
    return rt::DataType::I64;
  }
}

/// What a file for a port holds.
static rt::DataType portDataType(Type element, bool isUnsigned) {
  rt::DataType type = dataTypeOf(element);
  if (!isUnsigned)
    return type;
  switch (type) {
  case rt::DataType::I8:
    return rt::DataType::U8;
  case rt::DataType::I16:
    return rt::DataType::U16;
  case rt::DataType::I32:
    return rt::DataType::U32;
  case rt::DataType::I64:
    return rt::DataType::U64;
  default:
    return type;
  }
}

rt::BufferRef tp::target::bufferOf(const Storage &storage, int64_t extraBytes) {
  rt::BufferRef buffer;
  buffer.offset = storage.offset + extraBytes;
  switch (storage.space) {
  case Space::Argument:
    buffer.space = rt::Space::Argument;
    buffer.index = storage.index;
    return buffer;
  case Space::Result:
    buffer.space = rt::Space::Result;
    buffer.index = storage.index;
    return buffer;
  case Space::Arena:
    buffer.space = rt::Space::Arena;
    return buffer;
  case Space::Constant:
    buffer.space = rt::Space::Constant;
    return buffer;
  case Space::Scratch:
    break;
  }
  llvm_unreachable("scratch is within a kernel");
}

static std::vector<int64_t> list(ArrayRef<int64_t> values) {
  return values.vec();
}

/// What arguments and results have in common.
static FailureOr<rt::Port> describePort(const tp::Mesh &mesh,
                                        DictionaryAttr attributes,
                                        RankedTensorType local, Location loc,
                                        Twine fallbackName,
                                        StringRef fallbackKind) {
  RankedTensorType global = local;
  tp::Layout layout = tp::Layout::replicated(mesh);
  rt::Port port;
  port.name = fallbackName.str();
  port.kind = fallbackKind.str();
  bool isUnsigned = attributes && attributes.contains(tp::attr::unsignedPort);
  if (attributes) {
    if (auto type = attributes.getAs<TypeAttr>(tp::attr::globalType))
      global = dyn_cast<RankedTensorType>(type.getValue());
    if (auto layoutAttr = attributes.getAs<tp::LayoutAttr>(tp::attr::layout))
      layout = layoutAttr.getValue();
    if (auto text = attributes.getAs<StringAttr>(tp::attr::name))
      port.name = text.str();
    if (auto text = attributes.getAs<StringAttr>(tp::attr::kind))
      port.kind = text.str();
  }
  if (!global || !global.hasStaticShape() ||
      global.getRank() != local.getRank())
    return emitError(loc, "'")
           << port.name << "': expected a static global type of rank "
           << local.getRank();
  std::string broken = layout.verify(mesh, global.getShape());
  if (!broken.empty())
    return emitError(loc, "'") << port.name << "': " << broken;
  if (layout.hasPartial())
    return emitError(loc, "'")
           << port.name << "': a port of the program cannot be partial";
  if (ArrayRef<int64_t>(layout.localShape(global.getShape())) !=
      local.getShape())
    return emitError(loc, "'")
           << port.name << "': local type " << local << " is not what layout "
           << layout.toString(mesh) << " makes of " << global;
  port.shape = list(global.getShape());
  port.dtype = portDataType(local.getElementType(), isUnsigned);
  port.layout = describeLayout(mesh, layout);
  port.permutation.resize(port.shape.size());
  std::iota(port.permutation.begin(), port.permutation.end(), 0);
  return port;
}

/// The names of which the weight files must have one.
static rt::WholeSource sourceOf(rt::Port port, ArrayAttr aliases) {
  rt::WholeSource source = rt::defaultSource(port);
  if (source.sourceKeys.empty() || !aliases)
    return source;
  for (auto alias : aliases.getAsRange<StringAttr>()) {
    port.name = alias.str();
    for (std::string &key : rt::defaultSource(port).sourceKeys)
      source.sourceKeys.push_back(std::move(key));
  }
  return source;
}

/// Weights go to the tables that entries share, all else is an input of the
/// entry.
static LogicalResult describeArguments(const ManifestSource &program,
                                       rt::Manifest &manifest, rt::Entry &entry,
                                       tp::ProgramStatistics &statistics) {
  llvm::DenseSet<Value> used;
  for (const Command &command : program.schedule->commands)
    used.insert_range(command.reads);
  func::FuncOp function = program.function;
  // Positions in either table, and whether it is that of weights.
  SmallVector<std::pair<bool, int64_t>> signature;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto type = cast<RankedTensorType>(argument.getType());
    auto port =
        describePort(program.mesh, function.getArgAttrDict(i), type,
                     argument.getLoc(), "argument" + Twine(i), "user_input");
    if (failed(port))
      return failure();
    port->dead = !used.contains(argument);
    port->source = sourceOf(
        *port, function.getArgAttrOfType<ArrayAttr>(i, tp::attr::aliases));
    ArrayRef<int64_t> permutation = program.plan->argumentPermutation(i);
    if (!permutation.empty())
      port->permutation = list(permutation);
    if (port->isWeight() && !port->dead)
      statistics.weightsBytes += program.plan->storage(argument).bytes();
    std::vector<rt::Port> &table =
        port->isWeight() ? manifest.arguments : entry.inputs;
    signature.push_back({port->isWeight(), int64_t(table.size())});
    table.push_back(std::move(*port));
  }
  for (auto [isWeight, position] : signature)
    entry.signature.push_back(
        isWeight ? position : position + int64_t(manifest.arguments.size()));
  return success();
}

static LogicalResult describeResults(const ManifestSource &program,
                                     rt::Entry &entry) {
  func::FuncOp function = program.function;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    auto port = describePort(program.mesh, function.getResultAttrDict(i),
                             cast<RankedTensorType>(type), function.getLoc(),
                             "result" + Twine(i), "user_output");
    if (failed(port))
      return failure();
    entry.results.push_back(std::move(*port));
  }
  return success();
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

static rt::GemmCommand describeGemm(const ManifestSource &program,
                                    const Gemm &gemm) {
  const StoragePlan &plan = *program.plan;
  auto place = [&](const GemmOperand &operand) {
    const Storage &storage = plan.storage(operand.root);
    return bufferOf(storage,
                    operand.elementOffset * elementBytes(storage.elementType));
  };
  auto operand = [&](const GemmOperand &operand) {
    return rt::GemmOperand{place(operand), operand.ld, operand.transpose,
                           list(operand.batchStrides)};
  };
  rt::GemmCommand command;
  command.dtype = dataTypeOf(gemm.elementType);
  command.tf32 = program.tf32 && gemm.elementType.isF32();
  command.cDtype = dataTypeOf(plan.storage(gemm.c.root).elementType);
  command.m = gemm.m;
  command.n = gemm.n;
  command.k = gemm.k;
  if (!gemm.kOfRank.empty())
    command.shortened = describeK(program.mesh, gemm.kOfRank);
  command.alpha = gemm.alpha;
  command.beta = gemm.beta;
  command.a = operand(gemm.a);
  command.b = operand(gemm.b);
  command.c = operand(gemm.c);
  command.batch = list(gemm.batch);
  if (gemm.residual)
    command.residual = operand(*gemm.residual);
  if (gemm.bias)
    command.bias = place(*gemm.bias);
  if (gemm.gelu)
    command.activation = rt::Activation::GeluTanh;
  return command;
}

static rt::AttentionCommand describeAttention(const StoragePlan &plan,
                                              const Attention &attention,
                                              std::vector<rt::Command> steps) {
  auto place = [&](const AttentionOperand &operand) {
    const Storage &storage = plan.storage(operand.root);
    return bufferOf(storage,
                    operand.elementOffset * elementBytes(storage.elementType));
  };
  auto operand = [&](const AttentionOperand &operand) {
    rt::AttentionOperand described;
    described.buffer = place(operand);
    llvm::copy(operand.strides, described.strides.begin());
    return described;
  };
  rt::AttentionCommand command;
  command.dtype = dataTypeOf(attention.elementType);
  command.batch = attention.batch;
  command.heads = attention.heads;
  command.kvHeads = attention.kvHeads;
  command.queries = attention.queries;
  command.keys = attention.keys;
  command.headSize = attention.headSize;
  command.valueSize = attention.valueSize;
  command.scale = attention.scale;
  command.lower = attention.lower;
  command.upper = attention.upper;
  if (attention.emptyRows == "zero")
    command.emptyRows = rt::EmptyRows::Zero;
  else if (attention.emptyRows == "nan")
    command.emptyRows = rt::EmptyRows::NaN;
  command.q = operand(attention.q);
  command.k = operand(attention.k);
  command.v = operand(attention.v);
  command.o = operand(attention.o);
  if (attention.bias) {
    command.bias.emplace();
    command.bias->buffer = place(*attention.bias);
    command.bias->dtype =
        dataTypeOf(plan.storage(attention.bias->root).elementType);
    llvm::copy(attention.bias->strides, command.bias->strides.begin());
  }
  command.flops = attention.flops;
  command.bytes = attention.bytes;
  command.steps = std::move(steps);
  return command;
}

static rt::Command commandAt(Location loc, decltype(rt::Command::what) what) {
  tp::SourceName name = tp::sourceNameOf(loc);
  return {std::move(what), name.module, name.location};
}

/// The same commands, those that are steps of an attention within it.
static std::vector<rt::Command> nestSteps(const ManifestSource &program,
                                          std::vector<rt::Command> commands) {
  std::vector<rt::Command> nested;
  ArrayRef<Attention> attentions = program.schedule->attentions;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (attentions.empty() || attentions.front().first != i) {
      nested.push_back(std::move(commands[i]));
      continue;
    }
    const Attention &attention = attentions.front();
    std::vector<rt::Command> steps;
    for (; i <= attention.last; ++i)
      steps.push_back(std::move(commands[i]));
    --i;
    nested.push_back(commandAt(
        attention.op->getLoc(),
        describeAttention(*program.plan, attention, std::move(steps))));
    attentions = attentions.drop_front();
  }
  return nested;
}

/// What a kernel does with the memory of one of its parameters: other queues
/// need not wait for more.
static rt::BufferAccess accessOf(const ManifestSource &program,
                                 const Command &command, Value value) {
  int64_t bytes = 0;
  auto anyHere = [&](ArrayRef<Value> values) {
    bool any = false;
    for (Value other : values) {
      const Storage &storage = program.plan->storage(other);
      if (storage.space == Space::Scratch ||
          program.memory->owner(other) != program.memory->owner(value))
        continue;
      any = true;
      bytes = std::max(bytes, storage.bytes());
    }
    return any;
  };
  bool reads = anyHere(command.reads), writes = anyHere(command.writes);
  // A parameter that is neither is taken to be read, as one of both is.
  rt::BufferAccess access;
  access.bytes = bytes;
  access.reads = reads || !writes;
  access.writes = writes;
  return access;
}

static rt::KernelCommand describeKernel(const ManifestSource &program,
                                        const Command &command,
                                        const KernelCall &call) {
  rt::KernelCommand kernel;
  kernel.function = call.function;
  if (call.launch)
    kernel.launch = *call.launch;
  for (Value value : call.buffers) {
    kernel.buffers.push_back(bufferOf(program.plan->storage(value)));
    if (call.launch)
      kernel.launch.accesses.push_back(accessOf(program, command, value));
  }
  return kernel;
}

static std::vector<rt::Command>
describeCommands(const ManifestSource &program,
                 const CollectiveTables &tables) {
  std::vector<rt::Command> commands;
  for (auto [command, call] :
       llvm::zip_equal(program.schedule->commands, program.kernels)) {
    if (command.gemm)
      commands.push_back(commandAt(command.gemm->op->getLoc(),
                                   describeGemm(program, *command.gemm)));
    else if (command.collective)
      commands.push_back(
          commandAt(command.collective->getLoc(),
                    tables.commands.find(command.collective)->second));
    else
      commands.push_back(
          commandAt(command.fusedKernel->computeLoops.back()->op->getLoc(),
                    describeKernel(program, command, call)));
  }
  return nestSteps(program, std::move(commands));
}

FailureOr<tp::CompiledManifest>
tp::target::makeManifest(const ManifestSource &program,
                         tp::ProgramStatistics &statistics) {
  tp::CompiledManifest compiled;
  rt::Manifest &manifest = compiled.manifest;
  manifest.producer = "tp 0.1";
  manifest.target = program.target;
  manifest.mesh = describeMesh(program.mesh);
  rt::Entry &entry = manifest.entries.emplace_back();
  func::FuncOp function = program.function;
  entry.name = function.getSymName().str();
  auto tables = describeCollectives(program);
  if (failed(describeArguments(program, manifest, entry, statistics)) ||
      failed(describeResults(program, entry)) ||
      failed(describeUpdates(function, manifest, entry)) || failed(tables))
    return failure();
  for (auto [op, id] : program.asserts->ids) {
    // The location of the op around it names the module.
    tp::SourceName name = tp::sourceNameOf(op->getLoc());
    manifest.asserts.push_back({id, cast<cf::AssertOp>(op).getMsg().str(),
                                name.module, name.location});
  }
  entry.program = describeCommands(program, *tables);
  manifest.groups = std::move(tables->groups);
  entry.collectives = std::move(tables->collectives);
  compiled.causes = std::move(tables->causes);
  for (const Command &command : program.schedule->commands)
    if (command.gemm)
      statistics.gemmFlops += command.gemm->flops();
  statistics.arenaBytes = program.memory->arenaBytes;
  statistics.peakLiveBytes = program.memory->peakLiveBytes;
  statistics.constantsBytes = program.memory->constantsBytes;
  statistics.scratchBytes = program.scratchBytes;
  statistics.numCommands = entry.program.size();
  entry.memory = {statistics.arenaBytes, statistics.peakLiveBytes,
                  statistics.weightsBytes, statistics.constantsBytes,
                  statistics.scratchBytes};
  rt::Status status =
      rt::checkManifest(manifest, program.memory->constantsBytes);
  if (!status.ok())
    return function.emitError("the program cannot be an artifact: ")
           << status.message();
  return compiled;
}
