"""Faults in a rank's program for pipelines of others."""

LOWER_TO_MPI = "Transforms/Export/lower-to-mpi.mlir"

# By file: (what, text, text instead, test); see Fault in plant-faults.py.
FAULTS = {
    "lib/Transforms/Export/MPIMessages.cpp": [
        ("any number of ranks will do",
         "arith::ConstantIntOp::create(builder, i32, «ranks - 1»)",
         "ranks", LOWER_TO_MPI),
        ("positions are the ranks' numbers",
         "positions[rank] = «position»;",
         "rank", LOWER_TO_MPI),
        ("messages go to the ranks of the first group",
         "llvm::copy(«group», members.begin() + rank * size);",
         "groups.front()", LOWER_TO_MPI),
        ("a rank gives away the buffer that it wants",
         "isSame(inner, ownSource, «partner»)",
         "ownPosition", LOWER_TO_MPI),
    ],
    "lib/Transforms/Export/LowerToMPI.cpp": [
        ("all ranks combine what a group does",
         "bool isWorld = «axes.getMesh().getValue().numRanks() == size»;",
         "true", LOWER_TO_MPI),
        ("blocks are cut along the first dimension",
         "value = moveDim(builder, value, «dim», 0);",
         "0", LOWER_TO_MPI),
        ("arguments may be overwritten",
         "BoolAttr::get(func.getContext(), «false»));",
         "true", LOWER_TO_MPI),
    ],
    "lib/Transforms/Export/MessageElements.cpp": [
        ("narrow floats are combined as they are",
         "if («type && type.getWidth() < 32»)",
         "false", LOWER_TO_MPI),
        ("the first rank counts twice",
         "slice(RankedTensorType::get({count - 1, size}, wide), «1», count - 1);",
         "0", LOWER_TO_MPI),
        ("no sum of truths is refused",
         "return «!element.isInteger(1) || kind != ReductionKind::Sum»;",
         "true", LOWER_TO_MPI),
    ],
}
