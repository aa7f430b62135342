"""Which ops are taken apart, and into what.

Ops without a form in linalg would become ops of torch-mlir's own dialect `tm_tensor`, or stop the
import. None of these decompositions multiplies by a one-hot matrix.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch._decomp import core_aten_decompositions, get_decompositions

from . import (bags, complex_numbers, convolutions, elementwise, fourier, integers, losses,
               ordering, pooling, random, resampling, scatters, shapes, special, statistics)

aten = torch.ops.aten

# Taken apart by torch, beside core_aten_decompositions.
_BY_TORCH = [
    aten.native_group_norm, aten.native_layer_norm, aten.addmm, aten.gelu, aten.gelu_backward,
    aten._native_batch_norm_legit_functional, aten._native_batch_norm_legit_no_training,
    aten._native_batch_norm_legit, aten._native_batch_norm_legit.no_stats,
    aten.upsample_bilinear2d.vec, aten.upsample_nearest2d.vec, aten._adaptive_avg_pool2d,
    aten.squeeze.dims, aten._euclidean_dist, aten.grid_sampler_2d, aten.full, aten.logsumexp,
    aten._log_softmax, aten._to_copy, aten.diag, aten.rms_norm, aten._fused_rms_norm,
    aten.scaled_dot_product_attention, aten._scaled_dot_product_flash_attention_for_cpu,
    aten.nll_loss_forward, aten.nll_loss_backward, aten.tril, aten.triu, aten.softplus,
    aten.embedding_dense_backward, aten.select_scatter, aten.slice_backward, aten.select_backward,
    aten.linalg_vector_norm, aten.norm,
    aten.index_add, aten.index_copy, aten.index_fill, aten.repeat_interleave.self_int, aten.polar,
    aten.unfold, aten.masked_fill, aten.dist, aten.log_sigmoid_forward, aten.mish,
    aten.eye, aten.hardswish, aten.hardsigmoid, aten._safe_softmax, aten.elu,
    aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input,
]

# torch-mlir has a form for these, and torch's decomposition has none or a worse one.
_KEPT = [
    aten.stft, aten.istft, aten.one_hot, aten.empty_like, aten.all, aten.logaddexp2,
    aten.convolution_backward,
]


def decomposition_table() -> dict[Any, Callable[..., Any]]:
    """From op overloads to functions that compute the same by other ops."""
    kept = set(_KEPT)
    table = {op: function for op, function in core_aten_decompositions().items()
             if op._overloadpacket not in kept}
    table.update(get_decompositions(_BY_TORCH))
    mine: dict[Any, Callable[..., Any]] = {}
    for own in (bags, complex_numbers, convolutions, elementwise, fourier, integers, losses,
                ordering, pooling, random, resampling, scatters, shapes, special, statistics):
        twice = mine.keys() & own.DECOMPOSITIONS.keys()
        assert not twice, f"one function has the last word on an op, expected no other for {twice}"
        mine.update(own.DECOMPOSITIONS)
    return {**table, **mine}
