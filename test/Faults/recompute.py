"""Faults in what is computed again in the backward pass, and in what keeps it apart from the
forward pass in the stages behind."""

RECOMPUTE = "Transforms/Plan/recompute.mlir"
RECOMPUTE_INVALID = "Transforms/Plan/recompute-invalid.mlir"
RESUME = "Codegen/resume.mlir"
LAYERS = "Regression/recomputed-layers.test"
