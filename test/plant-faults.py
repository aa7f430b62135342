#!/usr/bin/env python3
"""Plants single faults in rules, redistribution and partition, and checks that
the simulator finds each; and in the runtime, where its tests do.

  plant-faults.py [--work=DIR] [--only=TEXT,...] [--part=compiler|runtime]
                  [--jobs=N]

Copies the sources to DIR (default: a folder in /tmp), builds tp-opt there, and
then, one fault at a time: patches one place of the copy, builds again, and
takes the small programs of test/Simulate/Inputs and examples/llama at 2 and 4
ranks through the stages until something fails, or for the faults of
runtime_faults.py runs tests of the runtime. Prints a table and
`N of N faults caught`; exits non-zero unless all are. A patch whose text is not
there exactly once is an error: bring the fault up to date with the code.
"""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, os.path.join(ROOT, "test", "Simulate"))
import simulate_stages  # noqa: E402
from runtime_faults import RUNTIME_FAULTS, RuntimeChecker  # noqa: E402

LINALG = "lib/Interfaces/LinalgShardingRules.cpp"
BODY = "lib/Interfaces/BodyLinearity.cpp"
LOCAL = "lib/Interfaces/LocalOpBuilder.cpp"
RULE = "lib/Interfaces/ShardingRule.cpp"
TENSOR = "lib/Interfaces/TensorShardingRules.cpp"
MATERIALIZE = "lib/Transforms/Redistribute/Materialize.cpp"
PATH = "lib/Support/RedistributionPath.cpp"
STEP = "lib/Support/LayoutChange.cpp"
BLOCKS = "lib/Support/ShardBlocks.cpp"
PARTITION = "lib/Transforms/Partition/Partition.cpp"
COLLECTIVES = "lib/Transforms/Partition/LocalCollectives.cpp"

# (what, file, text, text instead)
FAULTS = [
    # What a rank computes with: offsets, indices, masks.
    ("index of a split loop: offset subtracted", LINALG,
     "arith::AddIOp::create(builder, index.getLoc(), index, it->second)",
     "arith::SubIOp::create(builder, index.getLoc(), index, it->second)"),
    ("index of a split loop: stays local", LINALG,
     "auto it = offsets.find(index.getDim());",
     "auto it = offsets.find(index.getDim() + 1);"),
    ("table read: offset added, not subtracted", LINALG,
     "arith::SubIOp::create(builder, loc, index, offsets.at(factor));",
     "arith::AddIOp::create(builder, loc, index, offsets.at(factor));"),
    ("table read: first row of a rank masked", LINALG,
     "arith::CmpIPredicate::sge, index, offsets.at(factor)",
     "arith::CmpIPredicate::sgt, index, offsets.at(factor)"),
    ("table read: first row of the next rank not masked", LINALG,
     "arith::CmpIPredicate::slt, index, ends.at(factor)",
     "arith::CmpIPredicate::sle, index, ends.at(factor)"),
    ("table read: mask the wrong way round", LINALG,
     "arith::SelectOp::create(builder, loc, isHere, read, identity)",
     "arith::SelectOp::create(builder, loc, isHere, identity, read)"),
    ("table read: masked with 1", LINALG,
     "builder, loc, identityOf(ReductionKind::Sum, type));",
     "builder, loc, identityOf(ReductionKind::Product, type));"),
    ("offset: chunks rounded down", LOCAL,
     "    Value step = arith::MulIOp::create(builder, loc, index, size);\n"
     "    offset =",
     "    size = arith::ConstantIndexOp::create(\n"
     "        builder, loc, rule.factors[factor].size / part.size);\n"
     "    Value step = arith::MulIOp::create(builder, loc, index, size);\n"
     "    offset ="),
    ("offset: axes do not add up", LOCAL,
     "    offset = arith::AddIOp::create(builder, loc, offset, step);",
     "    offset = step;"),
    ("end: beyond the last row", LOCAL,
     "end = arith::MinSIOp::create(builder, loc, end, after);",
     "end = arith::MaxSIOp::create(builder, loc, end, after);"),
    # What may be split, and how it combines.
    ("combiner: sum taken for max", BODY,
     "(isa<arith::AddIOp>(combiner) && !isBool))\n"
     "    return ReductionKind::Sum;",
     "(isa<arith::AddIOp>(combiner) && !isBool))\n"
     "    return ReductionKind::Max;"),
    ("combiner: of the first result for all", RULE,
     "Placement::partial(factor.combiners[result])",
     "Placement::partial(factor.combiners[0])"),
    ("slot: the factor's last dimension but one", RULE,
     "        place.dim = dim;",
     "        place.dim = dim ? dim - 1 : dim;"),
    ("reshape: minor part of a merged dimension split", RULE,
     "behindAnother |= rule.factors[part].size != 1;",
     "behindAnother |= false;"),
    ("concat: along a split dimension", TENSOR,
     "      if (dim != concat.getDim())\n        dims[dim]",
     "        dims[dim]"),
    ("pad: along a split dimension", TENSOR,
     "          isConstantIntValue(pad.getMixedHighPad()[dim], 0))",
     "          !pad.getMixedHighPad().empty())"),
    ("slice: part of a split dimension", TENSOR,
     "         isConstantIntValue(op.getMixedSizes()[dim], "
     "type.getDimSize(dim));",
     "         !op.getMixedSizes().empty();"),
    # Which partial values pass.
    ("partial: a bias added by every rank", BODY,
     "    if (isIn(one, {Sum}) && (a.isPartial() || !isSubtraction))\n"
     "      return both(op);",
     "    if (isIn(one, {Sum}) && (a.isPartial() || !isSubtraction))\n"
     "      return one;"),
    ("partial: product of two sums", BODY,
     "      return isIn(a, {Product}) ? both(op) : Scalar::unknown();\n"
     "    Scalar one = a.isPartial() ? a : b;\n"
     "    if (isIn(one, {Sum, Avg}))",
     "      return isIn(a, {Product, Sum}) ? both(op) : Scalar::unknown();\n"
     "    Scalar one = a.isPartial() ? a : b;\n"
     "    if (isIn(one, {Sum, Avg}))"),
    ("partial: maximum of sums", BODY,
     "    if ((a.isPartial() && a.reduction != extremum) ||\n"
     "        (b.isPartial() && b.reduction != extremum))\n"
     "      return Scalar::unknown();\n"
     "    return Scalar::partial(extremum);",
     "    return a.isPartial() ? a : b;"),
    ("partial: divided by a sum", BODY,
     "      return isIn(a, {Sum, Avg}) && "
     "classify(op->getOperand(1)).isSame()\n"
     "                 ? a\n"
     "                 : Scalar::unknown();",
     "      return a.isPartial() ? a : classify(op->getOperand(1));"),
    ("partial: negation keeps max", BODY,
     "        return Scalar::partial(Min);",
     "        return Scalar::partial(Max);"),
    ("partial: a fill with 1 is partial as it stands", BODY,
     "    return number.getValue().isZero();",
     "    return true;"),
    ("partial: padded with any number by every rank", TENSOR,
     "!isIdentityConstant(padding, pass.kind)",
     "!padding"),
    # Layout changes.
    ("change: partial value not reduced", MATERIALIZE,
     "    if (current == layout)\n      return value;",
     "    if (current == layout ||\n"
     "        (current.hasPartial() && layout.isReplicated()))\n"
     "      return value;"),
    ("change: second operand in the layout of the first", MATERIALIZE,
     "rule->slotLayout(slot, strategy.getValue());",
     "rule->slotLayout(slot == 1 ? 0 : slot, strategy.getValue());"),
    ("path: partial values of the wrong kind", PATH,
     "      kind = placement.reduction;\n",
     "      kind = ReductionKind::Sum;\n"),
    ("step: a shard of the next dimension", STEP,
     "         llvm::ArrayRef(all).take_back(parts.size()) == parts;",
     "         llvm::ArrayRef(all).take_front(parts.size()) == parts;"),
    ("blocks: padding before the elements", BLOCKS,
     "      result.add(segment.bufferStart + run.bufferOffset, run.size);\n"
     "      result.add(-1, segment.blockSize - run.size);",
     "      result.add(-1, segment.blockSize - run.size);\n"
     "      result.add(segment.bufferStart + run.bufferOffset, run.size);"),
    ("blocks: compacted without their padding's place", BLOCKS,
     "      result.add(position * blocks.blockSize + segment.blockStart,",
     "      result.add(position * (blocks.blockSize - 1) + segment.blockStart,"),
    # The per-rank program.
    ("partition: every rank cuts the first slice", COLLECTIVES,
     "  offsets[dim] = offset;\n",
     "  if (isa<Attribute>(offset))\n    offsets[dim] = offset;\n"),
    ("partition: slices overlap by one", COLLECTIVES,
     "arith::ConstantIndexOp::create(builder, loc, segment.blockSize));",
     "arith::ConstantIndexOp::create(builder, loc, segment.blockSize - 1));"),
    ("partition: all but the first rank keep a value", COLLECTIVES,
     "arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,",
     "arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,"),
    ("partition: local zeroing with 1", COLLECTIVES,
     "TypedAttr identity = identityOf(kind, type.getElementType());",
     "TypedAttr identity =\n"
     "      identityOf(ReductionKind::Product, type.getElementType());"),
    ("partition: all-reduce takes the maximum", COLLECTIVES,
     "  builder.insert(clone);\n",
     "  builder.insert(clone);\n"
     "  if (auto reduce = dyn_cast<AllReduceOp>(clone))\n"
     "    reduce.setReductionAttr(ReductionAttr::get(\n"
     "        op->getContext(), ReductionKind::Max));\n"),
    ("partition: reduce-scatter takes the maximum", COLLECTIVES,
     "  builder.insert(clone);\n",
     "  builder.insert(clone);\n"
     "  if (auto reduce = dyn_cast<ReduceScatterOp>(clone))\n"
     "    reduce.setReductionAttr(ReductionAttr::get(\n"
     "        op->getContext(), ReductionKind::Max));\n"),
    ("partition: operands of a square product exchanged", PARTITION,
     "      slots.push_back(locals.lookup(slot));",
     "      slots.push_back(locals.lookup(slot));\n"
     "    if (slots.size() > 1 && slots[0].getType() == slots[1].getType())\n"
     "      std::swap(slots[0], slots[1]);"),
]


def read(path):
    with open(path) as file:
        return file.read()


def write(path, text):
    with open(path, "w") as file:
        file.write(text)


class Builder:
    def __init__(self, work, jobs):
        # The build stands in the sources, as it does where people work, so that
        # a compiler cache finds what they have built.
        self.source = work
        self.build = os.path.join(work, "build")
        self.jobs = jobs
        self.environment = dict(os.environ, CCACHE_BASEDIR=work,
                                CCACHE_NOHASHDIR="1")
        os.makedirs(self.source, exist_ok=True)
        # Unchanged files keep their time, so that a second run of this script
        # in one folder builds little.
        files = subprocess.run(
            ["git", "-C", ROOT, "ls-files", "-co", "--exclude-standard"],
            capture_output=True, text=True, check=True).stdout.split("\n")
        for name in filter(None, files):
            source, target = f"{ROOT}/{name}", f"{self.source}/{name}"
            if not os.path.isfile(source):
                continue
            with open(source, "rb") as file:
                data = file.read()
            if os.path.isfile(target):
                with open(target, "rb") as file:
                    if file.read() == data:
                        continue
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(target, "wb") as file:
                file.write(data)

    def configure(self):
        # A second configuration with compilers named starts from nothing.
        if os.path.isfile(os.path.join(self.build, "build.ninja")):
            return
        self.call(["cmake", "-G", "Ninja", "-S", self.source, "-B", self.build,
                   "-DCMAKE_C_COMPILER=clang-22",
                   "-DCMAKE_CXX_COMPILER=clang++-22",
                   "-DCMAKE_BUILD_TYPE=Release",
                   "-DCMAKE_PREFIX_PATH=/usr/lib/llvm-22",
                   "-DLLVM_EXTERNAL_LIT=/usr/lib/llvm-22/bin/lit",
                   "-DLLVM_USE_LINKER=lld"])

    def make(self):
        self.call(["ninja", "-C", self.build, f"-j{self.jobs}", "tp-opt"])
        return os.path.join(self.build, "bin", "tp-opt")

    def call(self, command):
        done = subprocess.run(command, capture_output=True, text=True,
                              env=self.environment)
        if done.returncode:
            sys.exit(f"{' '.join(command)}\n{done.stdout}{done.stderr}")


def check_all(tp_opt, work):
    """Takes all programs through all stages; the first failure or None."""
    inputs = os.path.join(ROOT, "test", "Simulate", "Inputs")
    llama = os.path.join(ROOT, "examples", "llama")
    programs = []
    for name in ("one-axis", "two-axes", "layout-changes"):
        for section, text in simulate_stages.sections(f"{inputs}/{name}.mlir"):
            path = os.path.join(work, "build", f"{name}-{section}.mlir")
            write(path, text)
            programs.append((f"{name} {section}", path, {}))
    for plan in ("megatron", "sequence-parallel"):
        for ranks in (2, 4):
            programs.append((f"llama {plan} tp={ranks}", f"{llama}/model.mlir",
                             {"plan": f"{llama}/{plan}.plan.mlir",
                              "mesh": f"tp={ranks}"}))
    missed_by_simulator = None
    for name, path, options in programs:
        try:
            for _ in simulate_stages.stages(
                    tp_opt, name, path, os.path.join(work, "build"),
                    **options):
                pass
        except simulate_stages.Failure as failure:
            if failure.by_simulator:
                return failure
            # Another check was first; the simulator may find it elsewhere.
            missed_by_simulator = missed_by_simulator or failure
    return missed_by_simulator


class Planted:
    """The copy with one fault in it."""

    def __init__(self, builder, path, text, instead):
        self.target = os.path.join(builder.source, path)
        self.right = read(self.target)
        self.wrong = self.right.replace(text, instead)

    def __enter__(self):
        write(self.target, self.wrong)

    def __exit__(self, *_):
        write(self.target, self.right)


def plant_in_compiler(builder, faults):
    """The number of faults that are caught."""
    builder.configure()
    failure = check_all(builder.make(), builder.source)
    if failure:
        sys.exit(f"error: without a fault {failure.program} fails after "
                 f"{failure.stage}: {failure.message}")
    caught = 0
    for number, (what, path, text, instead) in enumerate(faults, 1):
        with Planted(builder, path, text, instead):
            failure = check_all(builder.make(), builder.source)
        folder = path.split("/")[1 if "Interfaces" in path else 2]
        by = "nothing"
        if failure:
            caught += 1
            by = "simulator" if failure.by_simulator else "other check"
        print(f"{number:2} | {folder:12} | {what:50} | {by:11} |", end=" ")
        if failure:
            message = failure.message.replace("\n", " ")
            print(f"{failure.program}, {failure.stage}: {message[:150]}",
                  end="")
        print(flush=True)
    builder.make()
    return caught


def plant_in_runtime(builder, faults):
    """The number of faults that are caught."""
    checker = RuntimeChecker(builder)
    failure = checker.first_failure(":".join(sorted({f[4] for f in faults})))
    if failure:
        sys.exit(f"error: without a fault {failure} fails")
    caught = 0
    for number, (what, path, text, instead, tests) in enumerate(faults, 1):
        with Planted(builder, path, text, instead):
            failure = checker.first_failure(tests)
        caught += failure is not None
        print(f"{number:2} | {path.split('/')[0]:12} | {what:50} | "
              f"{'test' if failure else 'nothing':11} | {failure or ''}",
              flush=True)
    return caught


def main():
    options = dict(word[2:].split("=", 1) for word in sys.argv[1:])
    work = options.get("work") or os.path.join(tempfile.gettempdir(),
                                               "tp-plant-faults")
    only = options.get("only", "").split(",")
    part = options.get("part", "compiler,runtime").split(",")

    def chosen(name, faults):
        return [fault for fault in faults
                if name in part and any(t in fault[0] for t in only)]

    compiler = chosen("compiler", FAULTS)
    runtime = chosen("runtime", RUNTIME_FAULTS)
    for what, path, text, *_ in compiler + runtime:
        count = read(os.path.join(ROOT, path)).count(text)
        if count != 1:
            sys.exit(f"{path}: error: expected the text of fault '{what}' once,"
                     f" got it {count} times")
    builder = Builder(work, options.get("jobs", "2"))
    caught = plant_in_compiler(builder, compiler) if compiler else 0
    caught += plant_in_runtime(builder, runtime) if runtime else 0
    total = len(compiler) + len(runtime)
    print(f"{caught} of {total} faults caught")
    sys.exit(caught != total)


if __name__ == "__main__":
    main()
