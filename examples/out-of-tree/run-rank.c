//===- run-rank.c - runs one rank of an artifact per process --------------===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   RANK=N WORLD_SIZE=M run-rank MODEL.tp FOLDER
//
// Runs three steps as rank N of M, each a process of its own, started by any
// launcher or by hand. They find each other in FOLDER, which exists. All
// elements of all arguments, which have to be f32, are 1. The ranks join the
// first result in a file of FOLDER, and rank 0 prints its first element.
//
//===----------------------------------------------------------------------===//

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <tp/Runtime/Runtime.h>
#include <unistd.h>

static tp_artifact *artifact;
static tp_transport *transport;
static tp_rank *rank;
static int64_t number, size;
enum { num_steps = 3 };

static int64_t count(const tp_tensor *tensor) {
  int64_t elements = 1;
  for (int d = 0; d < tensor->rank; ++d)
    elements *= tensor->sizes[d];
  return elements;
}

static int failed(tp_status *status) {
  if (!status)
    return 0;
  fprintf(stderr, "run-rank: error: %s\n", tp_status_message(status));
  /* The other ranks end with this message, and do not wait. */
  if (transport)
    tp_transport_abort(transport, number, tp_status_message(status));
  tp_status_free(status);
  return 1;
}

/* This process's number comes from its launcher. */
static int64_t from_environment(const char *name) {
  const char *value = getenv(name);
  return value ? atoll(value) : -1;
}

/* Returns when all ranks have come. */
static tp_status *join(const char *folder) {
  tp_store_options options = {.struct_size = sizeof options, .address = folder};
  return tp_transport_store(artifact, number, size, &options, &transport);
}

/* One side's tensors: this host only fills and prints f32. */
static int is_f32(tp_port_side side) {
  for (int64_t i = 0; i < tp_artifact_num_ports(artifact, side); ++i) {
    tp_tensor global;
    tp_port_info info = {.struct_size = sizeof info};
    if (failed(tp_artifact_port(artifact, side, i, &global)) ||
        failed(tp_artifact_port_info(artifact, side, i, &info)))
      return 0;
    if (global.dtype != TP_F32 && !info.dead) {
      fprintf(stderr, "run-rank: error: '%s': expected f32\n",
              tp_artifact_port_name(artifact, side, i));
      return 0;
    }
  }
  return 1;
}

/* The rank cuts its part out of the whole array, which this process has. */
static tp_status *set_to_ones(int64_t index) {
  tp_tensor global;
  tp_port_info info = {.struct_size = sizeof info};
  tp_status *status =
      tp_artifact_port_info(artifact, TP_ARGUMENT, index, &info);
  if (status || info.dead)
    return status;
  status = tp_artifact_port(artifact, TP_ARGUMENT, index, &global);
  if (status)
    return status;
  float *ones = malloc(count(&global) * sizeof *ones);
  for (int64_t e = 0; e < count(&global); ++e)
    ones[e] = 1;
  global.data = ones;
  status = tp_rank_scatter(rank, artifact, index, &global);
  free(ones);
  return status;
}

static tp_status *run_steps(void) {
  tp_rank_options options = {.struct_size = sizeof options};
  tp_status *status =
      tp_rank_create(artifact, transport, number, size, &options, &rank);
  int64_t arguments = tp_artifact_num_ports(artifact, TP_ARGUMENT);
  for (int64_t i = 0; i < arguments && !status; ++i)
    status = set_to_ones(i);
  if (!status)
    status = tp_rank_barrier(rank);
  for (int step = 0; step < num_steps && !status; ++step) {
    status = tp_rank_submit(rank, NULL);
    if (!status)
      status = tp_rank_wait(rank);
  }
  return status;
}

/* Memory that all processes of this host share: a file of the folder. */
static void *share(const char *path, size_t bytes) {
  int file = open(path, O_RDWR | O_CREAT, 0600);
  if (file < 0 || ftruncate(file, (off_t)bytes) != 0)
    return MAP_FAILED;
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  return memory;
}

/* Every rank writes its part. Ranks whose parts overlap take turns, and a rank
   that has passed the last barrier sees what all have written. */
static tp_status *assemble(tp_tensor *result) {
  tp_port_info info = {.struct_size = sizeof info};
  tp_status *status = tp_artifact_port_info(artifact, TP_RESULT, 0, &info);
  int64_t turns = info.copies == 1 ? 1 : size;
  for (int64_t turn = 0; turn < turns && !status; ++turn) {
    if (turns == 1 || turn == number)
      status = tp_rank_assemble(rank, artifact, TP_RESULT, 0, result);
    if (!status)
      status = tp_rank_barrier(rank);
  }
  return status;
}

static int run(const char *model, const char *folder) {
  tp_tensor result;
  if (failed(tp_artifact_open(model, &artifact)) ||
      failed(tp_artifact_port(artifact, TP_RESULT, 0, &result)) ||
      !is_f32(TP_ARGUMENT) || !is_f32(TP_RESULT))
    return 1;
  char path[4096];
  snprintf(path, sizeof path, "%s/result", folder);
  result.data = share(path, count(&result) * sizeof(float));
  if (result.data == MAP_FAILED) {
    perror(path);
    return 1;
  }
  if (failed(join(folder)) || failed(run_steps()) || failed(assemble(&result)))
    return 1;
  if (number == 0 && unlink(path) == 0)
    printf("%g on %d ranks\n", ((float *)result.data)[0], (int)size);
  return failed(tp_rank_finish(rank));
}

int main(int argc, char **argv) {
  number = from_environment("RANK");
  size = from_environment("WORLD_SIZE");
  if (argc != 3) {
    fprintf(stderr, "usage: RANK=N WORLD_SIZE=M run-rank MODEL.tp FOLDER\n");
    return 2;
  }
  int status = run(argv[1], argv[2]);
  tp_rank_free(rank);
  tp_transport_free(transport);
  tp_artifact_close(artifact);
  return status;
}
