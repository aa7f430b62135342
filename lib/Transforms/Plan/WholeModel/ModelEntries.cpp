//===- ModelEntries.cpp - the entries of a whole model --------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WholeModel/ModelEntries.h"
#include "ModuleIndex.h"
#include "Parameters/EntryUses.h"
#include "tp/IR/TP.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tp;

namespace {
class EntryWriter {
public:
  EntryWriter(func::FuncOp function, const ModuleTree &tree,
              const TransformerOptions &options)
      : function(function), tree(tree), options(options),
        names(function, PortSide::Argument),
        results(function, PortSide::Result), own(parameterUses(function)),
        all(parameterUses(function, /*throughSelections=*/true)),
        blocks(function, all), index(function) {
    for (const ParameterUse &use : own)
      if (!use.stackedDim)
        if (std::optional<StringRef> module = ModuleIndex::owner(use.op))
          usesIn[*module].push_back(&use);
  }

  std::vector<ModelEntry> write();

private:
  /// The module whose entry would be about this use and no other weight.
  std::optional<StringRef> moduleOf(const ParameterUse &use);
  bool speaksOf(StringRef module, const ParameterUse &use);
  BlockArgument weightOf(StringRef module);
  /// The new entry, or none if there is one of this name.
  ModelEntry *add(ModelEntry::Kind kind, StringRef name, std::string text,
                  std::string reason = "");
  /// Gives what `use` reads a style; `dim` is the dimension that the style
  /// shards, none where it is replicated.
  void addUse(const ParameterUse &use, StringRef style, StringRef optionText,
              std::optional<unsigned> dim, std::string reason = "");
  void addTables();
  void addLinear(unsigned number);
  void addExperts(const ParameterUse &use);
  void addNorms();
  void addResults();
  bool hasLinear(StringRef module) const;
  std::string sequenceDim(const PortView &view) const;

  func::FuncOp function;
  const ModuleTree &tree;
  const TransformerOptions &options;
  PortNames names, results;
  std::vector<ParameterUse> own, all;
  BlockStructure blocks;
  ModuleIndex index;
  llvm::DenseMap<StringRef, SmallVector<const ParameterUse *, 1>> usesIn;
  llvm::StringSet<> named;
  std::vector<ModelEntry> entries;
};
} // namespace

static std::pair<StringRef, StringRef> ownerOf(StringRef name) {
  if (!name.contains('.'))
    return {StringRef(), name};
  return name.rsplit('.');
}

BlockArgument EntryWriter::weightOf(StringRef module) {
  for (StringRef name : weightNames) {
    std::string full =
        module.empty() ? name.str() : (module + "." + name).str();
    if (std::optional<unsigned> number = names.weight(full))
      return function.getArgument(*number);
  }
  return {};
}

/// As an entry finds its values (docs/plans.md): those of the module's weight
/// that are in the module; of a module whose weight is another's, those in it.
bool EntryWriter::speaksOf(StringRef module, const ParameterUse &use) {
  if (!tree.find(module))
    return false;
  auto inside = usesIn.lookup(module);
  BlockArgument weight = weightOf(module);
  if (!weight || weight.use_empty())
    return !inside.empty() &&
           llvm::all_of(inside, [&](const ParameterUse *each) {
             return each->parameter == use.parameter;
           });
  if (weight != use.parameter)
    return false;
  if (llvm::any_of(inside, [&](const ParameterUse *each) {
        return each->parameter == weight;
      }))
    return ModuleIndex::owner(use.op) == module;
  return llvm::count_if(own, [&](const ParameterUse &each) {
           return each.parameter == weight &&
                  ModuleIndex::owner(each.op).has_value();
         }) <= 1;
}

std::optional<StringRef> EntryWriter::moduleOf(const ParameterUse &use) {
  // A weight of matrices is a parameter that several modules may share.
  if (use.stackedDim || use.contracted.size() != 2)
    return std::nullopt;
  std::optional<StringRef> inside = ModuleIndex::owner(use.op);
  if (inside && speaksOf(*inside, use))
    return inside;
  auto [module, member] = ownerOf(names.name(use.parameter.getArgNumber()));
  if (llvm::is_contained(weightNames, member) && speaksOf(module, use))
    return module;
  return std::nullopt;
}

ModelEntry *EntryWriter::add(ModelEntry::Kind kind, StringRef name,
                             std::string text, std::string reason) {
  std::string key = std::to_string(kind) + name.str();
  if (!named.insert(key).second)
    return nullptr;
  entries.push_back({kind, name.str(), std::move(text), std::move(reason)});
  return &entries.back();
}

void EntryWriter::addUse(const ParameterUse &use, StringRef style,
                         StringRef optionText, std::optional<unsigned> dim,
                         std::string reason) {
  unsigned number = use.parameter.getArgNumber();
  StringRef name = names.name(number);
  std::optional<StringRef> module = moduleOf(use);
  if (!isInside(module.value_or(ownerOf(name).first), options.scope))
    return;
  if (module) {
    add(ModelEntry::Module, *module, (style + optionText).str(),
        std::move(reason));
    return;
  }
  std::string port =
      names.find(name).size() == 1 ? name.str() : names.qualified(number);
  int64_t rank = use.contracted.size();
  if (!dim) {
    add(ModelEntry::Argument, port, "replicate", std::move(reason));
    return;
  }
  SmallVector<const ParameterUse *> uses;
  for (const ParameterUse &each : own)
    if (each.parameter == use.parameter)
      uses.push_back(&each);
  std::optional<StringRef> byName;
  for (StringRef each : {"colwise", "rowwise"})
    if (!byName && rank > 2 &&
        dim == namedDim(uses, rank, each == "colwise", /*ofTable=*/false,
                        tree.hasTable())
                   .dim)
      byName = each;
  ModelEntry *made = byName ? add(ModelEntry::Parameter, name, byName->str())
                            : add(ModelEntry::Argument, port,
                                  "shard<" + std::to_string(*dim) + ">");
  if (made && options.sequenceParallel)
    made->leavesSequence = optionText.contains("shard<");
}

std::string EntryWriter::sequenceDim(const PortView &view) const {
  return std::to_string(view.shape.size() - 2);
}

void EntryWriter::addTables() {
  for (const ParameterUse *use : blocks.tokenTables()) {
    bool isSharded =
        options.sequenceParallel && blocks.hasStreamRows(use->outputView.shape);
    addUse(*use, "rowwise",
           isSharded
               ? " {input_layouts = [replicate], output_layouts = [shard<" +
                     sequenceDim(use->outputView) + ">]}"
               : " {input_layouts = [replicate]}",
           0);
  }
  for (const ParameterUse *use : blocks.otherTables())
    addUse(*use, "replicate", "", std::nullopt);
}

/// Experts whose weights are parameters of their module: ranks add up what it
/// returns.
void EntryWriter::addExperts(const ParameterUse &use) {
  std::optional<StringRef> module = ModuleIndex::owner(use.op);
  const ModuleRow *row = module ? tree.find(*module) : nullptr;
  if (options.sequenceParallel || !row || row->results.size() != 1 ||
      row->results.front().tensor().empty() ||
      !isInside(*module, options.scope) ||
      !index.valueOf(row->results.front().tensor()))
    return;
  add(ModelEntry::Module, *module, "moe_tp_experts");
}

void EntryWriter::addLinear(unsigned number) {
  const LinearLayer &layer = blocks.graph().linears()[number];
  const ParameterUse &use = *layer.use;
  bool isModule = moduleOf(use).has_value();
  std::string input;
  if (options.sequenceParallel && blocks.readsStream(number) &&
      blocks.hasStreamRows(use.inputView.shape))
    input = "input_layouts = [shard<" + sequenceDim(use.inputView) + ">]";
  switch (blocks.role(number)) {
  case LinearRole::Columns:
    return addUse(use, "colwise", input.empty() ? "" : " {" + input + "}",
                  blocks.shardedDim(number));
  case LinearRole::Rows: {
    std::string output;
    if (options.sequenceParallel && !blocks.isJoined(number) &&
        blocks.hasStreamRows(use.outputView.shape))
      output =
          " {output_layouts = [shard<" + sequenceDim(use.outputView) + ">]}";
    else if (options.sequenceParallel)
      output = " {output_layouts = [none]}";
    addUse(use, "rowwise", output, blocks.shardedDim(number));
    if (!isModule && use.contracted.size() > 2)
      addExperts(use);
    return;
  }
  case LinearRole::Head: {
    std::string output =
        options.lossParallel ? "" : "output_layouts = [replicate]";
    std::string both =
        input + (input.empty() || output.empty() ? "" : ", ") + output;
    return addUse(use, "colwise", both.empty() ? "" : " {" + both + "}",
                  blocks.shardedDim(number));
  }
  case LinearRole::Whole:
    return addUse(use, "replicate", "", std::nullopt);
  case LinearRole::Unpaired:
    return addUse(use, "replicate", "", std::nullopt,
                  "it is alone in its block, with no other linear layer to "
                  "pair it with");
  case LinearRole::Outside:
    return addUse(use, "replicate", "", std::nullopt,
                  "it is in no block and makes no logits");
  }
}

/// Whether the module, or one in it, has a matrix.
bool EntryWriter::hasLinear(StringRef module) const {
  return llvm::any_of(all, [&](const ParameterUse &use) {
    return isInside(ownerOf(names.name(use.parameter.getArgNumber())).first,
                    module);
  });
}

/// Modules whose vectors scale or shift the stream.
void EntryWriter::addNorms() {
  const ActivationGraph &graph = blocks.graph();
  // A vector reaches the stream by ops that read no activation.
  llvm::DenseMap<unsigned, unsigned> vectorOf;
  auto arguments = function.getArguments();
  for (BlockArgument argument : arguments) {
    unsigned number = argument.getArgNumber();
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    if (type && type.getRank() == 1 && names.kind(number) == "parameter")
      vectorOf[number] = number;
  }
  for (unsigned node = arguments.size(); node < graph.size(); ++node) {
    if (!graph.isForward(node))
      continue;
    for (unsigned source : graph.sources(node)) {
      auto it = vectorOf.find(source);
      if (it == vectorOf.end())
        continue;
      unsigned vector = it->second;
      if (!graph.isActivation(node)) {
        vectorOf.try_emplace(node, vector);
        continue;
      }
      StringRef module = ownerOf(names.name(vector)).first;
      ArrayRef<int64_t> shape = blocks.streamShape(node);
      if (shape.empty() || module.empty() || !tree.find(module) ||
          !isInside(module, options.scope) || hasLinear(module) ||
          !index.holdsOp(module))
        continue;
      unsigned dim = shape.size() - 2;
      add(ModelEntry::Module, module,
          dim == 1 ? "sequence_parallel"
                   : "sequence_parallel {sequence_dim = " +
                         std::to_string(dim) + "}");
    }
  }
}

/// Results that no longer are what the plan splits: the stream, and logits.
void EntryWriter::addResults() {
  const ActivationGraph &graph = blocks.graph();
  llvm::BitVector stops(graph.size());
  Operation *back = function.getBody().front().getTerminator();
  for (auto [number, value] : llvm::enumerate(back->getOperands())) {
    if (results.kind(number).starts_with("new_") ||
        !isa<RankedTensorType>(value.getType()) || !options.scope.empty())
      continue;
    unsigned node = graph.nodeOf(value);
    unsigned from = graph.unviewed(node);
    std::optional<unsigned> head = graph.linearAt(from);
    // Behind a bias.
    for (unsigned linear : graph.linearsBefore(from, stops))
      if (!head && blocks.role(linear) == LinearRole::Head &&
          cast<RankedTensorType>(value.getType()).getNumElements() ==
              llvm::product_of(graph.linears()[linear].use->outputView.shape))
        head = linear;
    bool isLogits = head && blocks.role(*head) == LinearRole::Head;
    bool isStream = !blocks.streamShape(node).empty();
    if (!(isLogits && !options.lossParallel) &&
        !(isStream && options.sequenceParallel))
      continue;
    StringRef name = results.name(number);
    add(ModelEntry::Result,
        !name.empty() && results.find(name).size() == 1
            ? name
            : StringRef(std::to_string(number)),
        "replicate");
  }
}

std::vector<ModelEntry> EntryWriter::write() {
  if (!blocks.hasBlocks())
    return {};
  addTables();
  for (unsigned i = 0, e = blocks.graph().linears().size(); i != e; ++i)
    addLinear(i);
  if (options.sequenceParallel)
    addNorms();
  addResults();
  return std::move(entries);
}

std::vector<ModelEntry>
tp::transformerEntries(func::FuncOp function, const ModuleTree &tree,
                       const TransformerOptions &options) {
  return EntryWriter(function, tree, options).write();
}

bool tp::hasSequence(func::FuncOp function) {
  std::vector<ParameterUse> uses =
      parameterUses(function, /*throughSelections=*/true);
  BlockStructure blocks(function, uses);
  return !blocks.hasBlocks() || blocks.hasSequence();
}

std::vector<ModelEntry> tp::batchEntries(func::FuncOp function) {
  PortNames names(function, PortSide::Argument);
  std::optional<int64_t> batch;
  std::vector<ModelEntry> entries;
  auto shapeOf = [&](unsigned number) {
    auto type =
        dyn_cast<RankedTensorType>(function.getArgument(number).getType());
    return type && names.kind(number) == "user_input" ? type.getShape()
                                                      : ArrayRef<int64_t>();
  };
  unsigned count = function.getNumArguments();
  for (unsigned number = 0; number < count && !batch; ++number)
    if (shapeOf(number).size() >= 2)
      batch = shapeOf(number).front();
  for (unsigned number = 0; number < count && batch.value_or(1) > 1; ++number) {
    ArrayRef<int64_t> shape = shapeOf(number);
    if (shape.empty() || shape.front() != *batch)
      continue;
    StringRef name = names.name(number);
    entries.push_back(
        {ModelEntry::Argument,
         names.find(name).size() == 1 ? name.str() : names.qualified(number),
         "shard<0>", ""});
  }
  return entries;
}
