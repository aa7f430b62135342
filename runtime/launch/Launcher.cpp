//===- Launcher.cpp - who started this process as a rank ------------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "tp/Runtime/Launch/Launcher.h"
#include "tp/Runtime/ArtifactFile.h"
#include <charconv>
#include <cstdlib>
#include <cstring>

using namespace tp::runtime;

namespace {

/// How a launcher names a process's rank, the number of ranks, its rank among
/// those of its host and their number, and the run.
struct LauncherVariables {
  const char *by, *rank, *size, *localRank, *localSize, *run;
};
constexpr LauncherVariables launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
     "TORCHELASTIC_RUN_ID"},
    {"mpirun", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE",
     "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE",
     "PMIX_NAMESPACE"},
    {"mpirun", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "MPI_LOCALNRANKS",
     "PMI_JOBID"},
    {"srun", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", nullptr,
     "SLURM_JOB_ID"},
};

std::string text(const char *variable) {
  const char *value = variable ? std::getenv(variable) : nullptr;
  return value ? value : "";
}

std::optional<int64_t> number(const char *variable) {
  std::string digits = text(variable);
  int64_t value = 0;
  auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (digits.empty() || error != std::errc() ||
      end != digits.data() + digits.size() || value < 0)
    return std::nullopt;
  return value;
}

/// "1531576320.0;tcp://10.96.0.1,10.148.0.1:34911"
std::string hostOfMpirun() {
  std::string uri = text("OMPI_MCA_orte_hnp_uri");
  constexpr std::string_view scheme = "tcp://";
  size_t begin = uri.find(scheme);
  if (begin == std::string::npos)
    return "";
  begin += scheme.size();
  return uri.substr(begin, uri.find_first_of(",:;", begin) - begin);
}

} // namespace

std::optional<LauncherInfo> tp::runtime::findLauncher() {
  for (const LauncherVariables &names : launchers) {
    std::optional<int64_t> rank = number(names.rank), size = number(names.size);
    if (!rank || !size)
      continue;
    LauncherInfo found;
    found.by = names.by;
    found.rank = *rank;
    found.size = *size;
    found.localRank = number(names.localRank);
    found.localSize = number(names.localSize);
    found.run = text(names.run);
    if (found.by == "srun") {
      found.run += "." + text("SLURM_STEP_ID");
      if (number("SLURM_STEP_NUM_NODES") == 1)
        found.localSize = found.size;
    }
    return found;
  }
  return std::nullopt;
}

Status tp::runtime::checkLaunched(const LauncherInfo &launched,
                                  const EntryView &entry) {
  if (launched.size == entry.numRanks() && launched.rank < launched.size)
    return {};
  return invalidArgument(
      launched.by + " started rank " + std::to_string(launched.rank) + " of " +
      std::to_string(launched.size) + ": the artifact is for " +
      std::to_string(entry.numRanks()) + " ranks (mesh " + entry.mesh.text() +
      ")");
}

std::string tp::runtime::firstHost(const std::string &list) {
  size_t end = list.find_first_of(",[");
  std::string host = list.substr(0, end);
  if (end == std::string::npos || list[end] == ',')
    return host;
  // The first number of the first bracket, and what follows the bracket.
  size_t close = list.find(']', end);
  if (close == std::string::npos)
    return "";
  size_t last = std::min(list.find_first_of(",-", end), close);
  host += list.substr(end + 1, last - end - 1);
  return host + firstHost(list.substr(close + 1));
}

std::optional<StoreAddress>
tp::runtime::findStore(const LauncherInfo &launched) {
  StoreAddress address;
  address.host = text("MASTER_ADDR");
  constexpr int64_t lastPort = 65535;
  if (std::optional<int64_t> port = number("MASTER_PORT");
      port && !address.host.empty()) {
    // The agent that starts the ranks listens at the port itself.
    if (text("TORCHELASTIC_USE_AGENT_STORE") == "True")
      port = *port == lastPort ? *port - 1 : *port + 1;
    if (*port < 1 || *port > lastPort)
      return std::nullopt;
    address.port = int(*port);
    return address;
  }
  if (launched.localSize == launched.size)
    address.host = "127.0.0.1";
  else if (launched.by == "srun")
    address.host = firstHost(text("SLURM_STEP_NODELIST"));
  else
    address.host = hostOfMpirun();
  if (address.host.empty() || launched.run.empty())
    return std::nullopt;
  // Linux gives ports up to 60999 to whoever asks for any.
  constexpr int64_t first = 61440, count = 4096;
  address.port = int(first + checksum(launched.run) % count);
  return address;
}
