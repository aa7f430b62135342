"""Single faults in the runtime and tp-run, for plant-faults.py.

Each is caught by the runtime's GoogleTests; the last field says which of them
are run, so that a fault takes seconds. Those of the store are in the program that
has the fakes of devices.
"""
import os
import subprocess

TRANSPORT = "runtime/transport/segment/SegmentTransport.cpp"
COLLECTIVES = "runtime/transport/segment/SegmentCollectives.cpp"
SIDES = "runtime/transport/segment/SegmentTransport.h"
SEGMENT = "runtime/transport/segment/SharedSegment.cpp"
REDUCE = "runtime/transport/segment/Reduce.cpp"
SLICES = "runtime/format/Slices.cpp"
MESH = "runtime/format/MeshGrid.cpp"
PORT = "runtime/format/Port.cpp"
WRITER = "runtime/format/ManifestWriter.cpp"
READER = "runtime/format/ManifestReader.cpp"
PORT_CHECK = "runtime/format/PortCheck.cpp"
RANK = "runtime/core/CpuRank.cpp"
RANK_BASE = "runtime/core/Rank.cpp"
ABI_RANK = "runtime/abi/AbiRank.cpp"
MEMORY = "runtime/transport/segment/RankMemory.cpp"
GEMM = "runtime/core/Gemm.cpp"
NPY = "runtime/arrays/Npy.cpp"
TENSORS = "runtime/arrays/SafeTensors.cpp"
ARTIFACT = "runtime/format/ArtifactFile.cpp"
WRITE = "runtime/io/WriteFile.cpp"
PLACE = "runtime/io/OutputPlace.cpp"
LOADER = "runtime/core/Artifact.cpp"
PROCESSOR = "runtime/format/ProcessorFeatures.cpp"
TP_RUN = "tools/tp-run/tp-run.cpp"
RESULTS = "tools/tp-run/Data/Results.cpp"
INPUT_LOADER = "tools/tp-run/Data/InputLoader.cpp"
RANDOM = "tools/tp-run/Data/RandomData.cpp"
PROCESSES = "runtime/launch/RunProcesses.cpp"
INTERRUPTS = "runtime/launch/Interrupts.cpp"
SERVER = "runtime/transport/store/StoreServer.cpp"
STORE = "runtime/transport/store/TcpStore.cpp"

CLOCK = "runtime/cuda/Device/QueueClock.cpp"
CHOICE = "runtime/cuda/Gemm/GemmAlgorithmSelection.cpp"
TIMING = "runtime/cuda/Rank/TimeGemms.cpp"
MEASURE = "runtime/cuda/Rank/MeasureCommands.cpp"
COMMUNICATORS = "runtime/cuda/Nccl/NcclCommunicators.cpp"
MODULE = "runtime/cuda/Rank/DeviceModule.cpp"
LIBRARIES = "runtime/cuda/Device/Libraries.cpp"

EXCHANGE = "*Collective*:*Rank*"
EDGES = "Reduce.*"
SLICING = "*Slices*:CopyStrided*:*Rank*"
ROUND_TRIP = "ManifestRoundTripTest.*"
TOOL = "TpRunTest.*"

# (what, file, text, text instead, tests)
RUNTIME_FAULTS = [
    # What a rank gets from its group.
    ("all_gather: its own block for all", COLLECTIVES,
     "inputs[p] + o * blockBytes, blockBytes);",
     "inputs[membership.position] + o * blockBytes, blockBytes);", EXCHANGE),
    ("all_gather: ranks before outer", COLLECTIVES,
     "output + (o * members + p) * blockBytes,",
     "output + (p * command.outer + o) * blockBytes,", EXCHANGE),
    ("reduce_scatter: ranks before outer", COLLECTIVES,
     "(o * members + membership.position) * blockBytes, command.block,",
     "(membership.position * command.outer + o) * blockBytes, command.block,",
     EXCHANGE),
    ("reduce_scatter: everything to one place", COLLECTIVES,
     "             output + o * blockBytes);", "             output);",
     EXCHANGE),
    ("all_to_all: outer before ranks", COLLECTIVES,
     "output + (p * command.outer + o) * blockBytes,",
     "output + (o * members + p) * blockBytes,", EXCHANGE),
    ("permute: from the next position", COLLECTIVES,
     "inputs[command.sources[membership.position]],",
     "inputs[(command.sources[membership.position] + 1) % members],",
     EXCHANGE),
    ("permute: one block of several", COLLECTIVES,
     "                command.outer * blockBytes);",
     "                blockBytes);", EXCHANGE),
    ("all_reduce, large: one slice is not copied", COLLECTIVES,
     "for (int64_t step = 1; step < members; ++step) {",
     "for (int64_t step = 2; step < members; ++step) {", EXCHANGE),
    ("all_reduce, large: all reduce the first slice", COLLECTIVES,
     "int64_t mine = first(membership.position);",
     "int64_t mine = first(0);", EXCHANGE),
    ("all_reduce, large: the last slice ends early", COLLECTIVES,
     "return std::min(p * slice, count); };",
     "return std::min(p * slice, count - 1); };", EXCHANGE),
    ("large: constants are looked for in the segment", COLLECTIVES,
     "constantInput ? static_cast<const char *>(call.input)",
     "false ? static_cast<const char *>(call.input)", EXCHANGE),
    ("large: the inputs of the call before", SIDES,
     "        .posts[membership.calls % 2];",
     "        .posts[0 * membership.calls];", EXCHANGE),
    ("large: the output of another rank", COLLECTIVES,
     "side.outputs[p] = segment.at(other.output);",
     "side.outputs[members - 1 - p] = segment.at(other.output);", EXCHANGE),
    ("small: one block of a wide input is sent", COLLECTIVES,
     "    inputBytes *= groupBarrier.membership.members.size();",
     "    inputBytes *= 1;", EXCHANGE),
    ("group: every rank at the first position", TRANSPORT,
     "membership.position = positionOf(entry.coordinates(rank), axes);",
     "membership.position = 0;", EXCHANGE),
    ("group: members in the order of their numbers", TRANSPORT,
     "    membership.members = entry.mesh.groupOf(rank, axes);\n",
     "    membership.members = entry.mesh.groupOf(rank, axes);\n"
     "    std::sort(membership.members.begin(), membership.members.end());\n",
     EXCHANGE),
    ("group: all groups meet in one place", SEGMENT,
     "stationsOffset)[channel * numRanks + rank];",
     "stationsOffset)[0 * channel + rank];", EXCHANGE),
    ("memory of two ranks overlaps", SEGMENT,
     "return base + memoryOffset + rank * memoryBytes;",
     "return base + memoryOffset + rank * (memoryBytes - 4096);", EXCHANGE),
    # Several entries of one rank.
    ("entries: each has its own copy of a state", MEMORY,
     "      if (isNew)\n        at->second = take", "        at->second = take",
     "RankMemoryTest.*"),
    ("entries: the arena is the first one's", MEMORY,
     "arenaBytes = std::max(arenaBytes, view.memory.arenaBytes);",
     "arenaBytes = std::max(arenaBytes, each.memory.arenaBytes ? int64_t(64) : 0);",
     "RankMemoryTest.*"),
    ("entries: what one sets, the other does not know", ABI_RANK,
     "      made->isSet = handle->isSet;\n", "", "CApiEntriesTest.*"),
    ("entries: what one loses, the other steps on", RANK_BASE,
     "state->lost.insert(entry.tensorOf(result.update->argument));",
     "state->lost.insert({entry.index, result.update->argument});",
     "CApiEntriesTest.*"),
    ("entries: two steps are under way", RANK_BASE,
     "  if (state->submitted)\n", "  if (state->submitted == this)\n",
     "CApiEntriesTest.*"),
    # Who fails, and what is said of it.
    ("agreement: the status of rank 0 alone", TRANSPORT,
     "for (int64_t r = 0; r < size() && agreed == 0; ++r)",
     "for (int64_t r = 0; r < 1 && agreed == 0; ++r)", "*Rank*"),
    ("divergence: not looked for", COLLECTIVES,
     "    if (post(groupBarrier.membership, member).tag == tag)\n",
     "    if (post(groupBarrier.membership, member).tag == tag || tag)\n",
     "Divergence*"),
    ("divergence: kinds are one", COLLECTIVES,
     "int64_t(row.kind), ", "", "Divergence*"),
    ("divergence: dtypes are one", COLLECTIVES,
     "int64_t(row.dtype),", "", "Divergence*"),
    ("divergence: reductions are one", COLLECTIVES,
     "int64_t(row.reduction), ", "", "Divergence*"),
    ("divergence: sizes of blocks are one", COLLECTIVES,
     "command.outer, command.block})", "command.outer})", "Divergence*"),
    ("divergence: outer sizes are one", COLLECTIVES,
     "command.outer, command.block})", "command.block})", "Divergence*"),
    ("time-out: those who came are named too", TRANSPORT,
     "    if (int32_t(arrivalSlot.arrived.load() - membership.arrivals) >= 0)\n"
     "      continue;\n", "", "*Rank*"),
    ("time-out: a heartbeat is not seen", SIDES,
     "heartbeats.fetch_add(1,", "heartbeats.fetch_add(0,", "StartTest.*"),
    ("time-out: loading may take any time", TRANSPORT,
     "      if (signs == *groupBarrier.heartbeats)\n"
     "        return notJoined(groupBarrier);\n", "", "StartTest.*"),
    ("time-out: time in which the waiter stood still", SEGMENT,
     "      deadline += now - seenAt;", "      ;",
     "FaultTest.AStoppedRunThatGoesOn"),
    ("abort: the last failure stays", SEGMENT,
     "  if (!abortState.compare_exchange_strong(running, 1))\n"
     "    return false;\n",
     "  abortState.store(running + 1);\n", "*Rank*"),
    ("step: begins with the last one's status", RANK,
     "  status = 0;\n", "", "*Rank*"),
    ("process: exit status 0 is enough", PROCESSES,
     "if (!good || !reportOf(transport, rank).finished)", "if (!good)",
     "FaultTest.ProcessesThatEnd"),
    ("process: outlives tp-run", PROCESSES,
     "  prctl(PR_SET_PDEATHSIG, SIGKILL);\n", "",
     "HostTest.KilledWhileRanksRun"),
    ("process: a stopped one is not seen", PROCESSES,
     "WNOHANG | WUNTRACED | WCONTINUED)", "WNOHANG)",
     "FaultTest.AllProcessesStopped"),
    ("process: any artifact will do", PROCESSES,
     "*artifactIdentity != artifact.identity())",
     "*artifactIdentity == 0)",
     "HostTest.ArtifactReplacedBetweenRanks"),
    ("interrupt: a temporary folder stays", INTERRUPTS,
     "  hostProgram().callCleanUp();\n", "",
     "HostTest.InterruptOfTheCompiler"),
    ("interrupt: one that is ignored counts", INTERRUPTS,
     "    if (sigaction(number, nullptr, &action) != 0 ||\n"
     "        action.sa_handler == SIG_IGN)\n      continue;\n", "",
     "HostTest.AnIgnoredSignalStaysIgnored"),
    ("file: half of it gets its name", WRITE,
     "writeAll(descriptor, bytes) &&",
     "(writeAll(descriptor, bytes), true) &&", "HostTest.FileSizeLimit"),
    ("artifact: changes while it runs", ARTIFACT,
     "MappedFile::Copied", "MappedFile::Shared",
     "HostTest.ArtifactReplacedWhileItRuns"),
    # Ranks that rank 0 sends away.
    ("store: a second rank of a number is taken in", SERVER,
     "  if (!place.address.empty())\n", "  if (false)\n",
     "StoreTest.TheSecondOfANumberIsRefused"),
    ("store: another artifact is the other rank's affair", SERVER,
     "    fail({Code::InvalidArgument, said.rank,",
     "    (void)Failure({Code::InvalidArgument, said.rank,",
     "StoreTest.RanksOfAnotherArtifactAreRefused"),
    ("store: a rank of another run is taken in", SERVER,
     "  if (said.run != mine.run)\n", "  if (false)\n",
     "StoreTest.RanksOfAnotherRunAreRefused"),
    ("store: who is refused tries again", STORE,
     "      final = message.kind == MessageKind::Refuse;\n",
     "      final = false;\n",
     "StoreTest.TheSecondOfANumberIsRefused"),
    ("file: a durable one has its name before it is whole", WRITE,
     "descriptor >= 0 && write(descriptor) && name(descriptor, path);",
     "descriptor >= 0 && name(descriptor, path) && write(descriptor);",
     "OutputFileTest.ADurableFileIsWholeOrTheOldOne"),
    ("file: a link is replaced", PLACE,
     "        found.path = followLink(found.path);\n",
     "        place = found;\n        return {};\n",
     "OutputFileTest.LinksAreFollowed"),
    ("file: a FIFO is replaced", PLACE,
     "bool replaced = !exists || S_ISREG(info.st_mode);",
     "bool replaced = true;", "OutputFileTest.FifosAreWrittenInPlace"),
    ("file: a socket is replaced", PLACE,
     "exists && S_ISSOCK(info.st_mode)", "false",
     "OutputFileTest.WhatIsNoFileIsRefused"),
    ("file: one file under two names", PLACE,
     "if (std::find(taken.begin(), taken.end(), *identity) != taken.end())",
     "if (false)", "OutputFileTest.OneFileUnderTwoNames"),
    ("file: standard output is opened anew", PLACE,
     "    if (std::optional<int> own = ownDescriptor(found.path)) {",
     "    if (std::optional<int> own; false) {",
     "OutputFileTest.OwnDescriptorsAreWrittenInPlace"),
    ("file: a closed pipe is a signal", WRITE,
     "  PipeSignalBlock held;\n", "",
     "OutputFileTest.OwnDescriptorsAreWrittenInPlace"),
    # What code may be opened.
    ("artifact: opened on any processor", LOADER,
     "      if (Status status = checkCodeTarget(*target); !status.ok())\n"
     "        return status;\n", "",
     "ProcessorTest.ArtifactsAreRefusedBeforeTheirCodeIsOpened"),
    ("artifact: --info opens the code", TP_RUN,
     "onlyListed ? Artifact::Contents::ManifestOnly",
     "false ? Artifact::Contents::ManifestOnly", "ProcessorTest.InfoOpensNoCode"),
    ("processor: nothing is missing", PROCESSOR,
     "&& !processor.features.contains(feature))", "&& false)",
     "ProcessorTest.WhatIsMissingIsNamed"),
    ("processor: any architecture will do", PROCESSOR,
     "architecture != processor.architecture)", "false)",
     "ProcessorTest.OtherArchitectures"),
    ("processor: an unknown feature is none", PROCESSOR,
     "    if (!use)\n      return", "    if (!use)\n      continue;\n"
     "    if (false)\n      return",
     "ProcessorTest.UnknownFeaturesAreRefused"),
    # Reductions.
    ("reduction: average is a sum", REDUCE,
     "      if (average)\n", "      if (false && average)\n", EXCHANGE),
    ("reduction: max drops NaN", REDUCE,
     "!isNegative(a)) || isNan(a) ? a : b;", "!isNegative(a)) ? a : b;", EDGES),
    ("reduction: min drops NaN", REDUCE,
     "&& isNegative(a)) || isNan(a) ? a : b;", "&& isNegative(a)) ? a : b;",
     EDGES),
    ("reduction: the larger of two zeros is the second one", REDUCE,
     "a > b || (a == b && !isNegative(a)) ||", "a > b ||", EDGES),
    ("reduction: the smaller of two zeros is the second one", REDUCE,
     "a < b || (a == b && isNegative(a)) ||", "a < b ||", EDGES),
    ("reduction: averages overflow", REDUCE,
     "std::is_same_v<T, double>, long double,",
     "std::is_same_v<T, double>, double,", EDGES),
    ("reduction: averages are as narrow as sums", REDUCE,
     "std::conditional_t<std::is_same_v<T, float>, double, T>>;",
     "std::conditional_t<std::is_same_v<T, float>, float, T>>;", EDGES),
    ("reduction: members in reverse", REDUCE,
     "reinterpret_cast<const Stored *>(inputs[r] + byteOffset) + start;",
     "reinterpret_cast<const Stored *>(\n"
     "              inputs[members - 1 - r] + byteOffset) + start;", EXCHANGE),
    ("reduction: without its offset", REDUCE,
     "(inputs[r] + byteOffset) + start;", "(inputs[r]) + start;", EXCHANGE),
    ("reduction: every block to the first one", REDUCE,
     "out[start + i] = Element::narrow(Narrow(sums[i]));",
     "out[i] = Element::narrow(Narrow(sums[i]));", EXCHANGE),
    # Slices of arguments and results.
    ("slices: load from the start of the array", SLICES,
     "                  static_cast<const char *>(global) +\n"
     "                      dot(box.global, globalStrides) * bytes,",
     "                  static_cast<const char *>(global),", SLICING),
    ("slices: load to the start of the buffer", SLICES,
     "static_cast<char *>(buffer) + dot(box.local, strides) * bytes,",
     "static_cast<char *>(buffer),", SLICING),
    ("slices: assemble from the start of the buffer", SLICES,
     "static_cast<const char *>(buffer) + dot(box.local, strides) * bytes,",
     "static_cast<const char *>(buffer),", SLICING),
    ("slices: assemble to the start of the array", SLICES,
     "static_cast<char *>(global) + dot(box.global, globalStrides) * bytes,",
     "static_cast<char *>(global),", SLICING),
    ("slices: the last segment alone is loaded", SLICES,
     "    if (!isEmpty(box))\n"
     "      copyStrided(box.size, bytes,",
     "    if (!isEmpty(box) && &box == &slice.boxes.back())\n"
     "      copyStrided(box.size, bytes,", SLICING),
    ("slices: rows that are apart are merged", SLICES,
     "merged.back().source == d.size * d.source &&\n", "", SLICING),
    ("slices: the last of a tile is left out", SLICES,
     "je = std::min(j0 + tile, inner.size)",
     "je = std::min(j0 + tile - 1, inner.size)", SLICING),
    ("slices: the first plane alone", SLICES,
     "    while (d > 0 && ++index[d - 1] == dimensions[d - 1].size)\n"
     "      index[--d] = 0;", "    d = 0;", SLICING),
    ("slices: padding behind a whole first dimension", SLICES,
     "    if (box.size == slice.localShape)\n",
     "    if (!box.size.empty() && box.size[0] == slice.localShape[0])\n",
     SLICING),
    ("slices: padding is nowhere", SLICES,
     "std::vector<uint8_t> mask(elements, 1);",
     "std::vector<uint8_t> mask(elements, 0);", SLICING),
    ("layout: chunks of any unit", PORT,
     "cut.unit = shard->unit;", "cut.unit = 1;", SLICING),
    ("layout: segments are one piece", PORT,
     "cut.segments = shard->segments;", "", SLICING),
    ("layout: every chunk is full", PORT,
     "valid = std::min(chunk, valid - start);", "valid = chunk;", SLICING),
    ("layout: nested chunks of the whole", PORT,
     "chunk = chunkSize(chunk, cut.unit, part.size);",
     "chunk = chunkSize(segment, cut.unit, part.size);", ROUND_TRIP),
    ("manifest: a default that is another one", READER,
     "reader.textOr(\"kind\", kind)", "reader.textOr(\"kind\", \"buffer\")",
     ROUND_TRIP),
    ("manifest: sub-axes are written as axes", WRITER,
     "if (mesh.isWhole(part))", "if (true)", ROUND_TRIP),
    ("manifest: unknown fields are ignored", "runtime/format/JsonReader.cpp",
     "if (failed() || !value->is_object())\n    return;\n  for",
     "return;\n  for", "ManifestTest.Mistakes*"),
    ("manifest: an axis is in a layout twice", PORT_CHECK,
     "if (mesh.major(part) != covered)", "if (false)", "ManifestTest.Mistakes*"),
    ("storage: the permutation's inverse", PORT,
     "strides[permutation[i]] = storedStrides[i];",
     "strides[i] = storedStrides[permutation[i]];", SLICING),
    ("mesh: the device order's inverse", MESH,
     "    position = std::find(deviceOrder.begin(), deviceOrder.end(), rank) -\n"
     "               deviceOrder.begin();",
     "    position = deviceOrder[rank];", "*Rank*"),
    ("mesh: the first axis fastest", MESH,
     "for (size_t i = mesh.axes.size(); i-- > 0;) {",
     "for (size_t i = 0; i < mesh.axes.size(); ++i) {", "*Rank*"),
    ("poison: results keep their contents", RANK,
     "    fillWithPoison(port.dtype, result(i),\n"
     "                   port.localBytes() / byteSize(port.dtype));",
     "    (void)port;", "*Rank*"),
    ("gemm: batches of b follow those of a", GEMM,
     "offsetB += index[d] * command.b.batchStrides[d];",
     "offsetB += index[d] * command.a.batchStrides[d];", "Gemm*"),
    ("gemm: an empty sum keeps the result", GEMM,
     "    if (p.k == 0)\n      scaleRows(p);",
     "    if (p.k == 0)\n      (void)p;", "Gemm*"),
    ("gemm: every rank has the first one's k", RANK,
     "gemm(product, coordinates,", "gemm(product, {},", "*Rank*"),
    ("gemm: padding is multiplied", GEMM,
     "command.kOf(rank),", "command.k,", "Gemm*"),
    ("random data: of the local element", RANDOM,
     "mix(stream + global)", "mix(stream + local)", TOOL),
    # Files.
    (".npy: Fortran's order is C's", NPY,
     "  if (header.fortranOrder) {", "  if (false) {", "Npy*"),
    (".npy: two bytes of a long header's length", NPY,
     "    length |= byte(10) << 16 | byte(11) << 24;", "    ;", "Npy*"),
    (".npy: data begins where version 1 has it", NPY,
     "array.data = bytes.data() + start + length;",
     "array.data = bytes.data() + 10 + length;", "Npy*"),
    (".npy: half precision is bfloat", NPY,
     '{"<f2", DataType::F16}', '{"<f2", DataType::BF16}', "Npy*"),
    (".npy: ui8 is ui16", NPY, '{"|u1", DataType::U8}', '{"|u1", DataType::U16}',
     "Npy*"),
    ("reduce: the largest ui32 is the largest i32", REDUCE,
     "return call(Plain<uint32_t>());", "return call(Plain<int32_t>());", EXCHANGE),
    (".npy: raw elements of any size", NPY,
     '    if (descr != "|V" + std::to_string(byteSize(*rawType)))\n',
     "    if (false)\n", "Npy*"),
    (".npy: a transposed array is written as it lies", NPY,
     "Array dense = rowMajor(array);", "const Array &dense = array;", "Npy*"),
    (".safetensors: data begins in the header", TENSORS,
     "substr(dataStart + entry.begin,", "substr(8 + entry.begin,",
     "SafeTensors*:*Weight*"),
    (".safetensors: more bytes than elements", TENSORS,
     "  if (type && uint64_t(size) != entry.end - entry.begin)",
     "  if (type && uint64_t(size) > entry.end - entry.begin)",
     "SafeTensors*:*Weight*"),
    (".safetensors: tensors overlap", TENSORS,
     "    if (entry->begin < end)\n", "    if (false)\n",
     "SafeTensors*:*Weight*"),
    (".safetensors: bfloat is half precision", TENSORS,
     '{"BF16", 2, DataType::BF16}', '{"BF16", 2, DataType::F16}',
     "SafeTensors*:*Weight*"),
    ("weights: a tied one has two contents", TENSORS,
     "entry.shape != first->shape ||\n"
     "        file.bytes(entry) != firstFile->bytes(*first))",
     "entry.shape != first->shape)", "SafeTensors*:*Weight*"),
    ("weights: two files have two contents", TENSORS,
     "entry.shape != otherEntry.shape ||\n"
     "        file.bytes(entry) != other.bytes(otherEntry))",
     "entry.shape != otherEntry.shape)", "SafeTensors*:*Weight*"),
    ("inputs: a boolean of 2", INPUT_LOADER,
     "if (uint8_t(array.data[i]) > 1)", "if (uint8_t(array.data[i]) > 2)",
     TOOL),
    ("inputs: an argument is given twice", INPUT_LOADER,
     "    if (taken[indices[i]])\n", "    if (false)\n", TOOL),
    ("inputs: any shape will do", INPUT_LOADER,
     "  if (sameType && array.shape == shape)\n", "  if (sameType)\n",
     TOOL),
    # Comparison of results.
    ("comparison: relative to what came out", RESULTS,
     "double excess = error - (atol + rtol * std::fabs(wanted));",
     "double excess = error - (atol + rtol * std::fabs(got));", TOOL),
    ("comparison: NaN equals anything", RESULTS,
     "    error = excess = std::numeric_limits<double>::infinity();",
     "    error = excess = 0;", TOOL),
    ("comparison: rank 0 stands for all", RESULTS,
     "    for (int64_t rank = 0; rank < entry.numRanks(); ++rank) {\n"
     "      int64_t before",
     "    for (int64_t rank = 0; rank < 1; ++rank) {\n"
     "      int64_t before", TOOL),
    ("comparison: the least wrong element", RESULTS,
     "if (worstIndex >= 0 && excess <= worstExcess)",
     "if (worstIndex >= 0 && excess >= worstExcess)", TOOL),
    ("comparison: large integers as doubles", RESULTS,
     "      if (a != b && got == wanted)\n", "      if (false)\n", TOOL),
    # Gates: what runs for the first time behind one hangs.
    ("gate: an algorithm's first run is behind it", CHOICE,
     "  Status status = timing.warmUp(work);\n",
     "  Status status = timing.time(work, plan.calls(), seconds);\n",
     "CudaTimingTest.TheFastestIsKept"),
    ("gate: the first copies are behind it", TIMING,
     "  return status.ok() ? clock->warmUp([this] { return fillCache(); }) "
     ": status;\n", "  return status;\n",
     "CudaTimingTest.TheFastestIsKept"),
    ("gate: the graph's first launch is behind it", MEASURE,
     "    return status.ok() ? launchGraph() : status;\n",
     "    return status;\n",
     "CudaTimesTest.NothingRunsForTheFirstTimeBehindAGate"),
    ("gate: more is queued than there is room for", CLOCK,
     "  if (launches > mostQueued)\n    open();\n",
     "  (void)launches;\n",
     "CudaTimesTest.TheQueueOfLaunchesNeverFillsBehindAGate"),
    ("gate: one that stays closed does not open", CLOCK,
     "      *gate = turn;\n      closed = false;\n      serialized",
     "      closed = false;\n      serialized",
     "CudaTimesTest.CallsThatWaitForTheDeviceDoNotHang"),
    # Aborts: a graph holds the communicators that it has captured.
    ("abort: the graph is destroyed after it", COMMUNICATORS,
     "    destroyGraphs();\n    for (ncclComm_t communicator : ending)",
     "    for (ncclComm_t communicator : ending)",
     "CudaAbortTest.ADeadPeerEndsTheOthers"),
    ("abort: communicators one after the other", COMMUNICATORS,
     "        ended->changed.notify_all();\n      }).detach();",
     "        ended->changed.notify_all();\n      }).join();",
     "CudaAbortTest.AGraphOfSeveralCommunicatorsEnds"),
    ("abort: unbounded", COMMUNICATORS,
     "std::chrono::duration<double>(seconds)",
     "std::chrono::duration<double>(seconds + 3600)",
     "CudaAbortTest.AnAbortThatDoesNotEndIsLeftBehind"),
    # Code and libraries of other versions.
    ("module: refused code is not assembled from PTX", MODULE,
     "    if (!refusesCode(result))\n", "    if (true)\n",
     "CudaFaultTest.RefusedCodeIsAssembledFromPtx"),
    ("module: any failure is a refusal", MODULE,
     "    if (!refusesCode(result))\n", "    if (false)\n",
     "CudaFaultTest.RefusedCodeIsAssembledFromPtx"),
    ("libraries: cuBLASLt 13 alone", LIBRARIES,
     "  std::vector<const char *> sonames = {\"libcublasLt.so.13\",\n"
     "                                       \"libcublasLt.so.12\"};",
     "  std::vector<const char *> sonames = {\"libcublasLt.so.13\",\n"
     "                                       \"libcublasLt.so.13\"};",
     "CudaFaultTest.ProductsOfCuda12AndOf13"),
    ("libraries: a message says why of the first alone", LIBRARIES,
     "    const char *text = dlerror();\n    reasons +=",
     "    const char *text = dlerror();\n    if (tried != paths[0])\n"
     "      continue;\n    reasons +=",
     "CudaFaultTest.ProductsOfCuda12AndOf13"),
]


# Of a program's tests, of which many take a fault to the end of their patience.
TIME_LIMIT = 900


class RuntimeChecker:
    """Builds the runtime of the copy and runs its tests. No optimization: a
    fault costs a compilation."""

    def __init__(self, builder):
        self.builder = builder
        self.build = os.path.join(builder.source, "build-runtime")

    def make(self, programs):
        if not os.path.isfile(os.path.join(self.build, "build.ninja")):
            self.builder.call(
                ["cmake", "-G", "Ninja", "-S", f"{self.builder.source}/runtime",
                 "-B", self.build, "-DCMAKE_C_COMPILER=clang-22",
                 "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_BUILD_TYPE=None",
                 "-DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld-22"])
        self.builder.call(["ninja", "-C", self.build,
                           f"-j{self.builder.jobs}", *programs])

    def first_failure(self, tests):
        """The name of the first test that fails, or None."""
        filters = {}
        for test in tests.split(":"):
            onFakes = test.startswith(("Cuda", "Store", "Launcher"))
            name = "tp-runtime-cuda-tests" if onFakes else "tp-runtime-tests"
            filters.setdefault(name, []).append(test)
        self.make(filters)
        return next(filter(None, (self.failure_of(name, ":".join(of))
                                  for name, of in filters.items())), None)

    def failure_of(self, program, tests):
        # What a fault makes wait for ever is not waited for that long.
        environment = {**os.environ, "TP_TEST_PATIENCE": "60"}
        try:
            done = subprocess.run(
                [f"{self.build}/bin/{program}", "--gtest_fail_fast",
                 f"--gtest_filter={tests}"], capture_output=True, text=True,
                errors="replace", timeout=TIME_LIMIT, env=environment)
        except subprocess.TimeoutExpired:
            return f"{tests}: time-out"
        if done.returncode == 0:
            if " 0 tests ran" in done.stdout:
                raise SystemExit(f"error: no test is called {tests}")
            return None
        names = [line[13:].split(" (")[0] for line in done.stdout.split("\n")
                 if line.startswith(("[  FAILED  ] ", "[ RUN      ] "))]
        failed = [line[13:].split(" (")[0].split(",")[0]
                  for line in done.stdout.split("\n")
                  if line.startswith("[  FAILED  ] ")]
        return failed[0] if failed else f"{names[-1] if names else '?'} (crash)"
