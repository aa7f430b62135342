"""Faults in plan binding, the reshape-free form and the choice of layouts."""

RING_COST_TESTS = "sharding:RingCost.*"
LAYOUT_PROGRAM_TESTS = "sharding:AxisProblem.*:MaterializedLayoutsTest.*"
JAX_CHECKPOINTS = "Python/FromJax/checkpoints.test"
AUTO_PLAN = "Transforms/Plan/auto.mlir"
DATA_PARALLEL = "Transforms/Propagate/data-parallel.mlir"
ASSIGNMENTS = "Random/Assignments/check-assignments.test"
WEIGHTS = "Transforms/Propagate/weights.mlir"
SUB_AXES = "Transforms/Propagate/sub-axes.mlir"
LAZY_OUTPUTS = "Transforms/Propagate/lazy-outputs.mlir"
EMBEDDING = "Transforms/Propagate/embedding.mlir"
SEGMENTS = "Transforms/Propagate/segments.mlir"
PADS = "Transforms/Propagate/pads.mlir"
NORMALIZE = "Transforms/Normalize/normalize.mlir"
NUMBERS = "Transforms/Normalize/numbers.mlir"
NORMALIZE_INVALID = "Transforms/Normalize/normalize-invalid.mlir"
APPLY_PLAN = "Transforms/Plan/apply-plan.mlir"
GOLDEN_BINDINGS = "Transforms/Plan/golden-bindings.test"
APPLY_PLAN_INVALID = "Transforms/Plan/apply-plan-invalid.mlir"
EXPERT_PARALLEL = "Transforms/Plan/expert-parallel.mlir"
EXPERT_PARALLEL_INVALID = "Transforms/Plan/expert-parallel-invalid.mlir"
PRODUCT_DECIDES = "Transforms/Plan/product-decides.mlir"
PARTS = "Transforms/Plan/parts.mlir"
PLAN_NAMES = "Transforms/Plan/names.mlir"
WHOLE_MODEL = "Transforms/Plan/transformer.mlir"
TRANSFORMER_OF_LOOP = "EndToEnd/transformer-of-long-loop.test"
IMPORT_SHARD = "Transforms/Import/import-shard.mlir"
IMPORT_SHARD_INVALID = "Transforms/Import/import-shard-invalid.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Sharding/RingCost.cpp": [
        ("an all-reduce sends what a gather sends",
         "return saturatingRound(«2 * share»);",
         "share", RING_COST_TESTS),
        ("an exchange sends the whole value",
         "return «bytes / ranks + (bytes % ranks != 0)»;",
         "bytes", RING_COST_TESTS),
    ],
    "lib/Solver/SaturatedCost.cpp": [
        ("costs overflow",
         "return «std::min(a + b, saturatedCost)»;",
         "a + b", RING_COST_TESTS),
    ],
    "lib/Transforms/Plan/WholeModel/BlockStructure.cpp": [
        ("a router has columns",
         "if («feeders.empty()»)",
         "false", WHOLE_MODEL),
        ("a sum is a block whatever made it",
         "if («activations.reachesByLinear(from, branch)»)",
         "true", WHOLE_MODEL),
        ("what is alone in a block is named to nobody",
         "«rows.empty() ? LinearRole::Unpaired : LinearRole::Whole»;",
         "LinearRole::Whole", WHOLE_MODEL),
        ("no layer makes logits",
         "«roles[i] = LinearRole::Head»;",
         "roles[i] = LinearRole::Outside", WHOLE_MODEL),
    ],
    "lib/Transforms/Plan/WholeModel/ModelStyles.cpp": [
        ("entries of the user have others beside them",
         "if («!isNamed(made, arguments, results)» &&",
         "true", WHOLE_MODEL),
        ("all entries have one line",
         "«++line», 1);",
         "line", WHOLE_MODEL),
    ],
    "lib/Transforms/Plan/WholeModel/ModelEntries.cpp": [
        ("logits stay sharded",
         "if (!(«isLogits && !options.lossParallel») &&",
         "false", WHOLE_MODEL),
        ("styles of a whole model split the rows of a stack for its columns",
         "name, «colwise» ? \"colwise\"",
         "!colwise", TRANSFORMER_OF_LOOP),
        ("norms have no entry",
         "if («options.sequenceParallel»)\n    addNorms();",
         "false", WHOLE_MODEL),
    ],
    "lib/Sharding/MaterializedLayouts.cpp": [
        ("pending partial values are scattered",
         "return «target.isReplicate()» ? by(CollectiveKind::AllReduce) : "
         "Conversion();",
         "true", LAYOUT_PROGRAM_TESTS),
        ("a gather costs nothing",
         "return by(«CollectiveKind::AllGather»);",
         "CollectiveKind::AllToAll", LAYOUT_PROGRAM_TESTS),
        ("scattering costs an all-reduce",
         "return by(«CollectiveKind::ReduceScatter»);",
         "CollectiveKind::AllReduce", LAYOUT_PROGRAM_TESTS),
        ("copies are made partial maxima at a cost",
         "if (target.isPartial() && «combinesCopies(target.reduction)»)",
         "false", ASSIGNMENTS),
        ("an extra state is made from the first one",
         "«there.push_back(best.to);»",
         "(void)0;", LAYOUT_PROGRAM_TESTS),
        ("uses of pending values take any copy",
         "if («!given || (made.pending && !(converted == need.state))»)",
         "!given", LAYOUT_PROGRAM_TESTS),
        ("one shard is enough for all uses",
         "if («sets[i].converted.size() == uses» ||",
         "sets[i].converted.size() == 1", LAYOUT_PROGRAM_TESTS),
    ],
    "lib/Sharding/StepCost.cpp": [
        ("collectives count nothing beside their bytes",
         "saturatingAdd(bytes, «(isTwo ? 2 : 1) * bytesPerCollective»)",
         "0", LAYOUT_PROGRAM_TESTS),
    ],
    "lib/Sharding/AxisProblem.cpp": [
        ("the cost of an op's choice is forgotten",
         "costs.push_back(«choice.cost»);\n    encoded.addVariable",
         "Cost()", LAYOUT_PROGRAM_TESTS),
        ("a value is paid once per use",
         "if (llvm::all_of(uses,\n                   [&](const Use &use) { "
         "return «use.op == uses.front().op»; }))",
         "true", LAYOUT_PROGRAM_TESTS),
        ("a supply of another state than the one made",
         "agrees.push_back(«materialization.made == choice.makes[maker.slot]»",
         "true", LAYOUT_PROGRAM_TESTS),
        ("uses of replicated values cost nothing",
         "encoded.states[use.op][i] +=\n"
         "          «costOfUse(materialization, choice.needs[use.slot],\n"
         "                    problem.values[value], problem.costs)»;",
         "Cost()", LAYOUT_PROGRAM_TESTS),
        ("only the first slot of an op pays",
         "cost += «costOfUse(materialization, need, node, problem.costs)»;\n"
         "    if (!(cost < least))",
         "Cost()", LAYOUT_PROGRAM_TESTS),
    ],
    "lib/Transforms/Propagate/Problem/AxisModel.cpp": [
        ("ranks do the work of all data",
         "saturatingAdd(cost.primary, «repeatedWorkPenalty»);",
         "0", DATA_PARALLEL),
        ("weights count as activations",
         "costs.collectiveFactor = gathered[value] ? 1 : «weightPenalty»;",
         "1", WEIGHTS),
        ("a split table divides the work",
         "if («factor.kind != FactorKind::Indexed»)\n"
         "      work",
         "true", EMBEDDING),
        ("a rank's part is as large as the whole",
         "touched += «placement.isShard()»",
         "false", ASSIGNMENTS),
    ],
    "lib/Transforms/Propagate/Problem/OpChoices.cpp": [
        ("partial values pass no op",
         "if (!isPass || «takesPartial»)",
         "false", ASSIGNMENTS),
    ],
    "lib/Transforms/Propagate/Graph/AxisParts.cpp": [
        ("key/value heads share no axis",
         "groups > «1»)",
         "ranks", SUB_AXES),
        ("heads are counted in elements",
         "if («whole.size() > 1»)\n"
         "    whole.pop_back();",
         "false", SUB_AXES),
    ],
    "lib/Transforms/Propagate/Problem/PortChoices.cpp": [
        ("weights in chunks of elements",
         "if («pin->inChunksOfUses»)\n"
         "    shards = shardsOfUses",
         "false", SUB_AXES),
        ("a lazy output is partial for everyone",
         "bool pending = «!options.allowSplitAllReduce»;",
         "false", LAZY_OUTPUTS),
    ],
    "lib/Transforms/Propagate/Graph/Segmentations.cpp": [
        ("the last segment is forgotten",
         "segments.push_back(«factor.size - start»);",
         "1", SEGMENTS),
        ("pads cut what slices cut, and nothing else is tried",
         "SegmentationFinder(graph, /*withPads=*/«false»).run();",
         "true", PADS),
        ("pads are not asked",
         "SegmentationFinder(graph, /*withPads=*/«true»).run();",
         "false", PADS),
        ("pads cut into any number of segments",
         "return «withPads && edges.size() > mostSegmentsWithPads»;",
         "false", PADS),
    ],
    "lib/Transforms/Normalize/DimClasses.cpp": [
        ("boundaries in a minor dimension are kept",
         "changed |= cut(dim, «boundary / minor»);",
         "boundary", NORMALIZE),
        ("cuts that do not nest",
         "if («other % at != 0 && at % other != 0»)",
         "false", NORMALIZE),
        ("a reshape is seen from one side",
         "«changed |= transfer(reshape.right, reshape.left);»",
         "(void)0;", NORMALIZE),
        ("factors in the wrong order",
         "factors.push_back(«size / at»);",
         "at", NORMALIZE),
    ],
    "lib/Transforms/Normalize/Prepare.cpp": [
        ("dimensions numbered by the same indices are one",
         "return «isOfIndices(generic)»;",
         "false", NORMALIZE),
    ],
    "lib/Transforms/Normalize/Refine.cpp": [
        ("slice: begins at another part",
         "push(«op.getStaticOffsets()[i] / unit», op.getStaticSizes()[i] / "
         "unit,",
         "0", NUMBERS),
        ("concat: along another dimension",
         "dim += «atoms.factors(op.getResult(), i).size()»;",
         "0", NUMBERS),
        ("a pin on the minor part of a dimension",
         "placement.dim = «major»;",
         "major + 1", NORMALIZE),
        ("a pin inside a part",
         "if («segment % minor != 0»)",
         "false", NORMALIZE_INVALID),
    ],
    "lib/Transforms/Normalize/RefineGeneric.cpp": [
        ("an index of the minor part only",
         "index = «arith::AddIOp::create(builder, loc, scaled, minor)»;",
         "Value(minor)", NUMBERS),
        ("an index is cut by the wrong factor",
         "index = «arith::DivUIOp::create(builder, loc, index, size)»;",
         "Value(index)", NORMALIZE),
        ("the parts of an index in the wrong order",
         "«std::reverse(indices.begin(), indices.end());»",
         "(void)0;", NORMALIZE),
    ],
    "lib/Transforms/Plan/Parameters/ParameterView.cpp": [
        ("layers in groups are no layers",
         "«next.stackedDim.value_or(of) != of» ||", "next.stackedDim.has_value()", AUTO_PLAN),
    ],
    "lib/Transforms/Plan/Parameters/DerivedWeights.cpp": [
        ("what is added to an activation is a weight",
         "«activations.contains(op->getResult(0))» ||", "false", AUTO_PLAN),
        ("a transposed weight is bound as it stands",
         ": «view.dims[dim - places.begin()]»);", "view.dims[next.dims.size()]", APPLY_PLAN),
        ("a reversed stack is none", "«loop ? !free.test(*loop) : computed.has_value()»",
         "!loop || !free.test(*loop)", AUTO_PLAN),
    ],
    "lib/Transforms/Plan/FreeParameters.cpp": [
        ("the small matrices of a sum are split", "return «!use->isPartOfWeight»;", "true",
         AUTO_PLAN),
    ],
    "lib/Transforms/Plan/ParameterUse.cpp": [
        ("what is kept hides a bias",
         "return «!isa<KeptOp>(user)»; });", "true", JAX_CHECKPOINTS),
        ("several layers at once are one",
         "if (!use || («view.partOf && view.partOf != view.stackedDim»))", "false", AUTO_PLAN),
        ("the contracted dimension of a lookup",
         "«use.contracted[dim] = true;»\n"
         "    computed",
         "(void)0;", APPLY_PLAN),
        ("contracted and kept exchanged",
         "(«isSum» ? use.contracted : kept)[dim] = true;",
         "!isSum",
         APPLY_PLAN),
    ],
    "lib/Transforms/Plan/BindModules.cpp": [
        ("sequence_parallel takes dimension 0",
         "Placement::shard(option ? option.getInt() : «1»);",
         "0", GOLDEN_BINDINGS),
        ("a layout of an input may be missing",
         "if («inputs != 0 && inputs < row->numPositional») {",
         "false", APPLY_PLAN_INVALID),
        ("a layout of an output may be missing",
         "if («outputs != 0 && outputs < row->numResults»)",
         "false", APPLY_PLAN_INVALID),
    ],
    "lib/Transforms/Plan/BindParameters.cpp": [
        ("a rowwise bias is sharded",
         "colwise ? Placement::shard(0) : «Placement::replicate()»);",
         "Placement::shard(0)", APPLY_PLAN),
        ("a colwise input comes in shards",
         "bool whole = «colwise || use.isGather»;",
         "use.isGather", GOLDEN_BINDINGS),
        ("rowwise outputs are reduced at once",
         "output.lazy = «!colwise»;",
         "false", APPLY_PLAN),
        ("replicate takes the parameters of modules in the module",
         "if (!isParameter(argument) || «memberOf(item.module, member) != name»)",
         "!name.starts_with(item.module)", APPLY_PLAN),
        ("replicate leaves tied parameters open",
         "if («status != BindingStatus::Bound»)",
         "false", APPLY_PLAN),
        ("unused weights are errors",
         "if («weight && weight.use_empty()») {\n"
         "      if (isDead(weight))",
         "false", APPLY_PLAN_INVALID),
        ("a style without effect is accepted",
         "if («llvm::all_of(items, [&](Item &other) {\n"
         "          return other.entry != entry || llvm::is_contained(idle, "
         "&other);\n        })»)",
         "false", APPLY_PLAN_INVALID),
    ],
    "lib/Transforms/Plan/PairwiseStyles.cpp": [
        ("rowwise comes before colwise",
         "toString(«i % 2 == 0» ? StyleKind::Colwise",
         "i % 2 != 0", PLAN_NAMES),
    ],
    "lib/Transforms/Plan/Experts/BindExperts.cpp": [
        ("experts are whole, and what each makes is sharded",
         "\"parameter\", weight, «Placement::shard(0)»);",
         "Placement::shard(1)", EXPERT_PARALLEL),
        ("parameters of a module that are not stacked over experts are sharded",
         "argument.use_empty() || shape.empty() || «shape.front() != count»)",
         "false", EXPERT_PARALLEL),
        ("a rank without an expert",
         "if («shape.front() < ranks»)",
         "false", EXPERT_PARALLEL_INVALID),
        ("weights that each token looks up",
         "if («!expert.getDefiningOp<linalg::IndexOp>()» &&",
         "false", EXPERT_PARALLEL_INVALID),
    ],
    "lib/Transforms/Plan/Parameters/BindNamed.cpp": [
        ("a vector is laid out by rowwise",
         "} else if («colwise») {",
         "true", PLAN_NAMES),
    ],
    "lib/Transforms/Propagate/Diagnostics/ImplicitCollectives.cpp": [
        ("advice names an option that the style lacks",
         "return «!isOfStyle»;",
         "true", "Transforms/Propagate/no-implicit-collectives.mlir"),
    ],
    "lib/Transforms/Plan/Parameters/EntryUses.cpp": [
        ("experts are columns",
         " && «!use.batched[dim]»)",
         "true", PRODUCT_DECIDES),
        ("rowwise splits what colwise splits",
         "if («contracted != colwise» &&",
         "contracted", GOLDEN_BINDINGS),
        ("layers of a stack are columns",
         "«dim != use.stackedDim» &&",
         "true", PRODUCT_DECIDES),
        ("a table is laid out as a weight is",
         "rank - («colwise != isTable» ? 2 : 1)",
         "colwise", PLAN_NAMES),
        ("a weight of JAX is taken for one of torch",
         "«hasTable» && !(use",
         "true", PRODUCT_DECIDES),
        ("a stack is taken for one weight of torch",
         "«!(use && use->stackedDim)»)",
         "true", PRODUCT_DECIDES),
        ("experts of a token are rows of a table",
         "(isLookup && «rank == 2»)",
         "true", PRODUCT_DECIDES),
        ("a lookup of experts tells their rows",
         "bool ofWeights = isLookup && !ofTable && «rank > 2»;",
         "false", APPLY_PLAN_INVALID),
        ("a module is in no part but its own",
         "return «own == uses.end() ? uses.front() : *own»;",
         "nullptr", PARTS),
    ],
    "lib/Transforms/Plan/BindPorts.cpp": [
        ("two pins of one port",
         "if («isNew || it->second.placement == placement»)\n"
         "    return success();\n  InFlightDiagnostic diag = "
         "entry->emitError()",
         "true", APPLY_PLAN_INVALID),
    ],
    "lib/Transforms/Plan/Binder.cpp": [
        ("two styles for one module",
         "if («!isNew») {",
         "false", APPLY_PLAN_INVALID),
        ("the earlier entry is overridden by anything",
         "if («overrides && overrides.getValue()»)",
         "true", APPLY_PLAN_INVALID),
        ("arguments without an entry are not pinned",
         "pin = PlacementAttr::get(plan.getContext(), «Placement::replicate()»)",
         "Placement::shard(0)", APPLY_PLAN),
    ],
    "lib/Transforms/Plan/Names/NamePattern.cpp": [
        ("a star matches across dots",
         "return «patterns.size() == segments.size()» &&",
         "true", APPLY_PLAN_INVALID),
        ("a set is of what is outside of it",
         "return found != «isOutside»;",
         "false", PLAN_NAMES),
    ],
    "lib/Transforms/Plan/ModulePorts.cpp": [
        ("ports that several values may be",
         "if («candidates.size() == 1»)",
         "!candidates.empty()", APPLY_PLAN_INVALID),
    ],
    "lib/Transforms/Import/ImportShard.cpp": [
        ("an annotation for users pins nothing",
         "if («!isKnown && !isReturned»)",
         "false", IMPORT_SHARD),
        ("an annotation of a value is for its own uses",
         "«value.replaceAllUsesExcept(pinned, first)»;",
         "annotation.getResult().replaceAllUsesWith(pinned)", IMPORT_SHARD),
        ("two layouts of one value",
         "if («!isNew && layouts[annotation] != layouts[it->second]»)",
         "false", IMPORT_SHARD_INVALID),
        ("an argument has the layout of its last use",
         "(«found && layouts[annotation] != layouts[found]»)",
         "false", IMPORT_SHARD),
        ("ports of callees are the program's",
         "«!function.isPrivate()» && (hasOne ||",
         "true", IMPORT_SHARD),
    ],
    "lib/Transforms/Import/ShardLayouts.cpp": [
        ("a mesh of other sizes",
         "return «axis.size == size»;",
         "true", IMPORT_SHARD_INVALID),
        ("chunks of other sizes",
         "if («theirs != ArrayRef(ours)»)",
         "false", IMPORT_SHARD_INVALID),
        ("halos are dropped",
         "return «size != 0»;",
         "false", IMPORT_SHARD_INVALID),
        ("axes of a dimension in any order",
         "if («!llvm::is_sorted(split)»)",
         "false", IMPORT_SHARD_INVALID),
    ],
}
