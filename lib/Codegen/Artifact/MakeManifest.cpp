//===- MakeManifest.cpp - the artifact's manifest -------------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MakeManifest.h"
#include "tp/IR/ModuleLocation.h"
#include "tp/IR/PortAttributes.h"

using namespace mlir;
using namespace tp::target;
namespace json = llvm::json;

StringRef tp::target::dtypeName(Type type) {
  if (type.isF64())
    return "f64";
  if (type.isF32())
    return "f32";
  if (type.isF16())
    return "f16";
  if (type.isBF16())
    return "bf16";
  if (type.isIndex())
    return "index";
  if (isa<Float8E4M3FNType>(type))
    return "f8E4M3FN";
  if (isa<Float8E5M2Type>(type))
    return "f8E5M2";
  if (isa<Float8E4M3FNUZType>(type))
    return "f8E4M3FNUZ";
  if (isa<Float8E5M2FNUZType>(type))
    return "f8E5M2FNUZ";
  switch (type.getIntOrFloatBitWidth()) {
  case 1:
    return "i1";
  case 8:
    return "i8";
  case 16:
    return "i16";
  case 32:
    return "i32";
  default:
    return "i64";
  }
}

/// What a file for a port holds.
static StringRef portDtypeName(Type element, bool isUnsigned) {
  if (isUnsigned && element.isInteger() && !element.isInteger(1)) {
    switch (element.getIntOrFloatBitWidth()) {
    case 8:
      return "u8";
    case 16:
      return "u16";
    case 32:
      return "u32";
    default:
      return "u64";
    }
  }
  return dtypeName(element);
}

json::Object tp::target::bufferOf(const Storage &storage, int64_t extraBytes) {
  static const char *const names[] = {"argument", "result", "arena",
                                      "constant"};
  json::Object buffer{{"space", names[int(storage.space)]},
                      {"offset", storage.offset + extraBytes}};
  if (storage.space == Space::Argument || storage.space == Space::Result)
    buffer["index"] = int64_t(storage.index);
  return buffer;
}

static json::Array array(ArrayRef<int64_t> values) {
  json::Array result;
  for (int64_t value : values)
    result.push_back(value);
  return result;
}

/// What arguments and results have in common.
static FailureOr<json::Object> describePort(const tp::Mesh &mesh,
                                            DictionaryAttr attributes,
                                            RankedTensorType local,
                                            Location loc, Twine fallbackName,
                                            StringRef fallbackKind) {
  RankedTensorType global = local;
  tp::Layout layout = tp::Layout::replicated(mesh);
  std::string name = fallbackName.str(), kind = fallbackKind.str();
  bool isUnsigned = attributes && attributes.contains(tp::attr::unsignedPort);
  if (attributes) {
    if (auto type = attributes.getAs<TypeAttr>(tp::attr::globalType))
      global = dyn_cast<RankedTensorType>(type.getValue());
    if (auto layoutAttr = attributes.getAs<tp::LayoutAttr>(tp::attr::layout))
      layout = layoutAttr.getValue();
    if (auto text = attributes.getAs<StringAttr>(tp::attr::name))
      name = text.str();
    if (auto text = attributes.getAs<StringAttr>(tp::attr::kind))
      kind = text.str();
  }
  if (!global || !global.hasStaticShape() ||
      global.getRank() != local.getRank())
    return emitError(loc, "'")
           << name << "': expected a static global type of rank "
           << local.getRank();
  std::string broken = layout.verify(mesh, global.getShape());
  if (!broken.empty())
    return emitError(loc, "'") << name << "': " << broken;
  if (layout.hasPartial())
    return emitError(loc, "'")
           << name << "': a port of the program cannot be partial";
  if (ArrayRef<int64_t>(layout.localShape(global.getShape())) !=
      local.getShape())
    return emitError(loc, "'")
           << name << "': local type " << local << " is not what layout "
           << layout.toString(mesh) << " makes of " << global;
  json::Array boxesOfRanks;
  for (int64_t rank = 0; rank < mesh.numRanks(); ++rank) {
    json::Array boxes;
    for (const tp::Box &box : layout.boxes(mesh, global.getShape(), rank))
      boxes.push_back(json::Object{{"global", array(box.globalOffsets)},
                                   {"local", array(box.localOffsets)},
                                   {"size", array(box.sizes)}});
    boxesOfRanks.push_back(std::move(boxes));
  }
  SmallVector<int64_t> units(global.getRank(), 1);
  for (const tp::AxisPlacement &entry : layout.entries)
    if (entry.placement.isShard())
      units[entry.placement.dim] = entry.placement.unit;
  return json::Object{
      {"name", name},
      {"kind", kind},
      {"shape", array(global.getShape())},
      {"dtype", portDtypeName(local.getElementType(), isUnsigned)},
      {"layout", layout.toString(mesh)},
      {"local_shape", array(local.getShape())},
      {"parts", std::move(boxesOfRanks)},
      {"unit", array(units)},
      {"alias_of", nullptr}};
}

static bool isOptimizerState(StringRef kind) {
  return kind.starts_with("opt_");
}

static bool isWeightKind(StringRef kind) {
  return kind == "parameter" || kind == "buffer" || kind == "constant_tensor" ||
         isOptimizerState(kind);
}

static FailureOr<json::Array>
describeArguments(const ManifestSource &program,
                  tp::ProgramStatistics &statistics) {
  llvm::DenseSet<Value> used;
  for (const Command &command : program.schedule->commands)
    used.insert_range(command.reads);
  func::FuncOp function = program.function;
  json::Array arguments;
  for (BlockArgument argument : function.getArguments()) {
    unsigned i = argument.getArgNumber();
    auto type = cast<RankedTensorType>(argument.getType());
    auto port =
        describePort(program.mesh, function.getArgAttrDict(i), type,
                     argument.getLoc(), "argument" + Twine(i), "user_input");
    if (failed(port))
      return failure();
    std::string kind = port->getString("kind")->str();
    bool dead = !used.contains(argument);
    // States have their parameter's name, and others in the file.
    std::string key = port->getString("name")->str();
    if (isOptimizerState(kind))
      key = kind + ":" + key;
    (*port)["source_keys"] = json::Array{key};
    (*port)["dead"] = dead;
    ArrayRef<int64_t> permutation = program.plan->argumentPermutation(i);
    if (!permutation.empty())
      (*port)["storage"] = json::Object{{"permutation", array(permutation)}};
    if (isWeightKind(kind) && !dead)
      statistics.weightsBytes += program.plan->storage(argument).bytes();
    arguments.push_back(std::move(*port));
  }
  return arguments;
}

static FailureOr<json::Array> describeResults(const ManifestSource &program) {
  func::FuncOp function = program.function;
  json::Array results;
  for (auto [i, type] : llvm::enumerate(function.getResultTypes())) {
    auto port = describePort(program.mesh, function.getResultAttrDict(i),
                             cast<RankedTensorType>(type), function.getLoc(),
                             "result" + Twine(i), "user_output");
    if (failed(port))
      return failure();
    results.push_back(std::move(*port));
  }
  return results;
}

static json::Object describeGemm(const ManifestSource &program,
                                 const Gemm &gemm) {
  const StoragePlan &plan = *program.plan;
  auto place = [&](const GemmOperand &operand) {
    const Storage &storage = plan.storage(operand.root);
    return bufferOf(storage,
                    operand.elementOffset * elementBytes(storage.elementType));
  };
  auto operand = [&](const GemmOperand &operand) {
    return json::Object{{"buffer", place(operand)},
                        {"ld", operand.ld},
                        {"transpose", operand.transpose},
                        {"batch_strides", array(operand.batchStrides)}};
  };
  json::Value k = gemm.k;
  if (!gemm.kOfRank.empty())
    k = array(gemm.kOfRank);
  tp::SourceName name = tp::sourceNameOf(gemm.op->getLoc());
  json::Object command{{"command", "gemm"},
                       {"dtype", program.tf32 && gemm.elementType.isF32()
                                     ? StringRef("tf32")
                                     : dtypeName(gemm.elementType)},
                       {"m", gemm.m},
                       {"n", gemm.n},
                       {"k", std::move(k)},
                       {"alpha", gemm.alpha},
                       {"beta", gemm.beta},
                       {"a", operand(gemm.a)},
                       {"b", operand(gemm.b)},
                       {"c", operand(gemm.c)},
                       {"batch", array(gemm.batch)},
                       {"flops", gemm.flops()},
                       {"module", name.module},
                       {"location", name.location}};
  Type made = plan.storage(gemm.c.root).elementType;
  if (made != gemm.elementType)
    command["c_dtype"] = dtypeName(made);
  if (gemm.residual)
    command["residual"] = operand(*gemm.residual);
  if (gemm.bias)
    command["bias"] = json::Object{{"buffer", place(*gemm.bias)}};
  if (gemm.gelu)
    command["activation"] = "gelu_tanh";
  return command;
}

static json::Object describeAttention(const StoragePlan &plan,
                                      const Attention &attention,
                                      json::Array steps) {
  auto operand = [&](const AttentionOperand &operand) {
    const Storage &storage = plan.storage(operand.root);
    return json::Object{
        {"buffer", bufferOf(storage, operand.elementOffset *
                                         elementBytes(storage.elementType))},
        {"strides", array(operand.strides)}};
  };
  tp::SourceName name = tp::sourceNameOf(attention.op->getLoc());
  json::Object command{{"command", "attention"},
                       {"dtype", dtypeName(attention.elementType)},
                       {"batch", attention.batch},
                       {"heads", attention.heads},
                       {"kv_heads", attention.kvHeads},
                       {"queries", attention.queries},
                       {"keys", attention.keys},
                       {"head_size", attention.headSize},
                       {"value_size", attention.valueSize},
                       {"scale", attention.scale},
                       {"lower", attention.lower},
                       {"upper", attention.upper},
                       {"q", operand(attention.q)},
                       {"k", operand(attention.k)},
                       {"v", operand(attention.v)},
                       {"o", operand(attention.o)},
                       {"bias", nullptr},
                       {"flops", attention.flops},
                       {"bytes", attention.bytes},
                       {"steps", std::move(steps)},
                       {"module", name.module},
                       {"location", name.location}};
  if (!attention.emptyRows.empty())
    command["empty_rows"] = attention.emptyRows;
  if (attention.bias) {
    json::Object bias = operand(*attention.bias);
    bias["dtype"] = dtypeName(plan.storage(attention.bias->root).elementType);
    command["bias"] = std::move(bias);
  }
  return command;
}

/// The same commands, those that are steps of an attention within it.
static json::Array nestSteps(const ManifestSource &program,
                             json::Array commands) {
  json::Array nested;
  ArrayRef<Attention> attentions = program.schedule->attentions;
  for (size_t i = 0; i < commands.size(); ++i) {
    if (attentions.empty() || attentions.front().first != i) {
      nested.push_back(std::move(commands[i]));
      continue;
    }
    json::Array steps;
    for (; i <= attentions.front().last; ++i)
      steps.push_back(std::move(commands[i]));
    --i;
    nested.push_back(
        describeAttention(*program.plan, attentions.front(), std::move(steps)));
    attentions = attentions.drop_front();
  }
  return nested;
}

/// A parameter of a kernel; of one that is launched, with what it touches:
/// other queues need not wait for more.
static json::Object describeBuffer(const ManifestSource &program,
                                   const Command &command,
                                   const KernelCall &call, Value value) {
  json::Object buffer = bufferOf(program.plan->storage(value));
  if (call.launch.empty())
    return buffer;
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
  buffer["bytes"] = bytes;
  buffer["access"] = !writes ? "read" : reads ? "read_write" : "write";
  return buffer;
}

FailureOr<json::Object>
tp::target::makeManifest(const ManifestSource &program,
                         tp::ProgramStatistics &statistics) {
  auto arguments = describeArguments(program, statistics);
  auto results = describeResults(program);
  auto tables = describeCollectives(program);
  if (failed(arguments) || failed(results) || failed(tables))
    return failure();

  json::Array axes, order, asserts, commands;
  for (const tp::MeshAxis &axis : program.mesh.axes)
    axes.push_back(json::Object{{"name", axis.name}, {"size", axis.size}});
  for (int64_t rank : program.mesh.deviceOrder)
    order.push_back(rank);
  for (auto [op, id] : program.asserts->ids) {
    // The location of the op around it names the module.
    tp::SourceName name = tp::sourceNameOf(op->getLoc());
    asserts.push_back(json::Object{{"id", id},
                                   {"message", cast<cf::AssertOp>(op).getMsg()},
                                   {"module", name.module},
                                   {"location", name.location}});
  }
  for (auto [command, call] :
       llvm::zip_equal(program.schedule->commands, program.kernels)) {
    if (command.gemm) {
      commands.push_back(describeGemm(program, *command.gemm));
      statistics.gemmFlops += command.gemm->flops();
      continue;
    }
    if (command.collective) {
      commands.push_back(
          std::move(tables->commands.find(command.collective)->second));
      continue;
    }
    json::Array buffers;
    for (Value value : call.buffers)
      buffers.push_back(describeBuffer(program, command, call, value));
    tp::SourceName name = tp::sourceNameOf(
        command.fusedKernel->computeLoops.back()->op->getLoc());
    json::Object kernel{{"command", "kernel"},
                        {"function", call.function},
                        {"buffers", std::move(buffers)},
                        {"module", name.module},
                        {"location", name.location}};
    for (const auto &[key, value] : call.launch)
      kernel[key] = value;
    commands.push_back(std::move(kernel));
  }
  commands = nestSteps(program, std::move(commands));
  statistics.arenaBytes = program.memory->arenaBytes;
  statistics.peakLiveBytes = program.memory->peakLiveBytes;
  statistics.constantsBytes = program.memory->constantsBytes;
  statistics.scratchBytes = program.scratchBytes;
  statistics.numCommands = commands.size();
  return json::Object{
      {"version", 1},
      {"producer", "tp 0.1"},
      {"target", json::Object(program.target)},
      {"entry",
       StringRef(const_cast<ManifestSource &>(program).function.getSymName())},
      {"mesh", json::Object{{"axes", std::move(axes)},
                            {"device_order", std::move(order)}}},
      {"arguments", std::move(*arguments)},
      {"results", std::move(*results)},
      {"groups", std::move(tables->groups)},
      {"collectives", std::move(tables->collectives)},
      {"asserts", std::move(asserts)},
      {"memory", json::Object{{"arena_bytes", statistics.arenaBytes},
                              {"peak_live_bytes", statistics.peakLiveBytes},
                              {"weights_bytes", statistics.weightsBytes},
                              {"constants_bytes", statistics.constantsBytes},
                              {"scratch_bytes", statistics.scratchBytes}}},
      {"program", std::move(commands)}};
}
