//===- ShardingPicture.h - which rank holds which part ----------*- C++ -*-===//
//
// Part of tp, under the Apache License v2.0 with LLVM Exceptions.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A picture of an argument or a result: its parts, and the ranks that hold each
// of them. It shows the dimensions that are cut, the last two as rows and
// columns; of an array of one or two dimensions all of them.
//
//===----------------------------------------------------------------------===//

#ifndef TP_RUNTIME_SHARDINGPICTURE_H
#define TP_RUNTIME_SHARDINGPICTURE_H

#include "tp/Runtime/Port.h"

namespace tp::runtime {

enum class Picture { Text, Svg };

/// The picture of a checked port. A port that is cut into more than 4096 parts
/// is an error.
Status drawSharding(const Port &port, const Mesh &mesh, Picture picture,
                    std::string &drawn);

/// Reads and checks `{"mesh": ..., "port": ...}`, where both are written as in
/// a manifest.
Status parsePort(std::string_view json, Mesh &mesh, Port &port);

} // namespace tp::runtime

#endif // TP_RUNTIME_SHARDINGPICTURE_H
