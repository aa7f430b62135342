"""Faults in what the runtime does with devices and their libraries."""

CHECK_QUEUES = "runtime/format/check/ManifestCheckQueues.cpp"
STEP = "runtime/cuda/Rank/DeviceStep.cpp"
CLOCK = "runtime/cuda/Device/QueueClock.cpp"
CHOICE = "runtime/cuda/Gemm/GemmAlgorithmSelection.cpp"
TIMING = "runtime/cuda/Rank/TimeGemms.cpp"
MEASURE = "runtime/cuda/Rank/MeasureCommands.cpp"
COMMUNICATORS = "runtime/cuda/Nccl/NcclCommunicators.cpp"
MODULE = "runtime/cuda/Rank/DeviceModule.cpp"
LIBRARIES = "runtime/cuda/Device/Libraries.cpp"

# (what, file, text, text instead, tests of GoogleTest)
FAULTS = [
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
    # What queues wait for.
    ("queues: a missing wait is right", CHECK_QUEUES,
     "if (queueOf(j) != queueOf(i) && conflict(touched[i], touched[j]))",
     "if (false)",
     "CudaQueueManifestTest.MistakesAreNamed"),
    ("queues: a wait for any command is enough", CHECK_QUEUES,
     "known = std::max(known, awaited);",
     "known = int64_t(end);",
     "CudaQueueManifestTest.MistakesAreNamed"),
    ("queues: the end need not wait", CHECK_QUEUES,
     "i > ended[int(Queue::Communication)] && status.ok(); --i)",
     "false; --i)",
     "CudaQueueManifestTest.TheEndWaitsForTheLastCollective"),
    ("queues: collectives that start as one share memory", CHECK_QUEUES,
     "for (size_t j = groupBegin; j < i; ++j)",
     "for (size_t j = i; j < i; ++j)",
     "CudaQueueManifestTest.CollectivesThatStartAsOneShareNoMemory"),
    ("queues: a command does not wait", STEP,
     "if (status.ok() && command.waitFor && !options.skipCollectives)",
     "if (false)",
     "CudaRunTest.EqualsTheHost"),
    ("queues: the end does not wait", STEP,
     "if (status.ok() && forks && entry.endWaitsFor)",
     "if (false)",
     "CudaNcclTest.GroupsEqualTheHost"),
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
