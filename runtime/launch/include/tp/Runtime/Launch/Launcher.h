//===- Launcher.h - who started this process as a rank ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_LAUNCH_LAUNCHER_H
#define TP_RUNTIME_LAUNCH_LAUNCHER_H

#include "tp/Runtime/Store.h"

namespace tp::runtime {

/// What torchrun, mpirun or srun has put into the environment.
struct LauncherInfo {
  /// "torchrun"
  std::string by;
  int64_t rank = 0, size = 0;
  /// Among the ranks of this host, and how many there are, where it says so.
  std::optional<int64_t> localRank, localSize;
  /// Tells this run from others.
  std::string run;
};
std::optional<LauncherInfo> findLauncher();

/// An error unless the artifact has as many ranks.
Status checkLaunched(const LauncherInfo &launched, const EntryView &entry);

/// The address of rank 0, from the environment; none if it cannot be
/// determined:
///
/// - MASTER_ADDR and MASTER_PORT, the port after it where torchrun's agent
///   serves at that one itself (TORCHELASTIC_USE_AGENT_STORE);
/// - else a port made of the run's name, outside of the ports that the system
///   gives away, on: this host, if all ranks are on it; the first host of
///   SLURM_STEP_NODELIST, which has task 0; the host of mpirun
///   (OMPI_MCA_orte_hnp_uri).
std::optional<StoreAddress> findStore(const LauncherInfo &launched);

/// The first of the hosts in Slurm's notation: "gpu[07-09,12],cpu1" is gpu07.
std::string firstHost(const std::string &list);

} // namespace tp::runtime

#endif // TP_RUNTIME_LAUNCH_LAUNCHER_H
