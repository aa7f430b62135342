"""Faults in what the runtime and tp-run read and write: files, code, slices, results."""

REDUCE = "runtime/transport/segment/Reduce.cpp"
SLICES = "runtime/format/Slices.cpp"
MESH = "runtime/format/MeshGrid.cpp"
PORT = "runtime/format/Port.cpp"
WRITER = "runtime/format/ManifestWriter.cpp"
READER = "runtime/format/ManifestReader.cpp"
PORT_CHECK = "runtime/format/PortCheck.cpp"
RANK = "runtime/core/CpuRank.cpp"
GEMM = "runtime/core/Gemm.cpp"
MIXED_GEMM = "runtime/core/MixedGemm.cpp"
NPY = "runtime/arrays/Npy.cpp"
TENSORS = "runtime/arrays/SafeTensors.cpp"
WRITE = "runtime/io/WriteFile.cpp"
PLACE = "runtime/io/OutputPlace.cpp"
LOADER = "runtime/core/Artifact.cpp"
PROCESSOR = "runtime/format/ProcessorFeatures.cpp"
TP_RUN = "tools/tp-run/tp-run.cpp"
RESULTS = "tools/tp-run/Data/Results.cpp"
INPUT_LOADER = "tools/tp-run/Data/InputLoader.cpp"
RANDOM = "tools/tp-run/Data/RandomData.cpp"
SERVER = "runtime/transport/store/StoreServer.cpp"
STORE = "runtime/transport/store/TcpStore.cpp"

EXCHANGE = "*Collective*:*Rank*"
SLICING = "*Slices*:CopyStrided*:*Rank*"
ROUND_TRIP = "ManifestRoundTripTest.*"
TOOL = "TpRunTest.*"

# (what, file, text, text instead, tests of GoogleTest)
FAULTS = [
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
     "  PipeSignalBlock held;\n  switch", "  switch",
     "OutputFileTest.OwnDescriptorsAreWrittenInPlace"),
    # What code may be opened.
    ("artifact: opened on any processor", LOADER,
     "        if (Status status = checkCodeTarget(*target); !status.ok())\n"
     "          return status;\n", "",
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
     "      fillWithPoison(port.dtype, result(i),\n"
     "                     port.localBytes() / byteSize(port.dtype));",
     "      (void)port;", "*Rank*"),
    ("gemm: batches of b follow those of a", GEMM,
     "offsetB += index[d] * command.b.batchStrides[d];",
     "offsetB += index[d] * command.a.batchStrides[d];", "Gemm*"),
    ("gemm: an empty sum keeps the result", GEMM,
     "    if (p.k == 0)\n      scaleRows(p);",
     "    if (p.k == 0)\n      (void)p;", "Gemm*"),
    ("gemm: every rank has the first one's k", RANK,
     "gemm(product, coordinates,", "gemm(product, {},", "*Rank*"),
    ("gemm: a factor of f32 and a narrow one change places", GEMM,
     "multiplyMixed({{p.n, p.m, p.k, p.alpha, p.b, transposed(p.bForm), p.a,",
     "multiplyMixed({{p.n, p.m, p.k, p.alpha, p.b, p.bForm, p.a,", "Gemm*"),
    ("mixed gemm: a later block of k replaces the sums", MIXED_GEMM,
     "part.beta = first == 0 ? p.beta : 1.0f;", "part.beta = p.beta;", "Gemm*"),
    ("mixed gemm: a single row ends its columns", MIXED_GEMM,
     "std::max(byRows ? p.ldc : p.columnStep, part.n)",
     "(byRows ? p.ldc : p.columnStep)", "Gemm*"),
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
]
