"""Layers of a cache that hold the tokens of a sliding window and no others."""
from __future__ import annotations

from typing import Any

import torch
from transformers.cache_utils import StaticLayer, StaticSlidingWindowLayer

# The position of a place that holds no token: no query comes behind it.
_NOWHERE = 1 << 30


class WindowLayer(StaticLayer):  # type: ignore[misc]
    """The keys and values of the last `window` tokens, that of position p at place p % window.

    The place is computed from a tensor, so that one export serves every step. transformers' own
    layer finds it in Python.
    """

    is_sliding = True
    window_position: torch.Tensor

    def __init__(self, window: int) -> None:
        super().__init__(max_cache_len=window)
        del self.cumulative_length
        self.window_position = torch.tensor(0, dtype=torch.int64)

    def lazy_initialization(self, key_states: torch.Tensor, value_states: torch.Tensor) -> None:
        shape = (*key_states.shape[:2], self.max_cache_len)
        self.dtype, self.device = key_states.dtype, key_states.device
        self.keys = key_states.new_zeros(*shape, key_states.shape[-1])
        self.values = value_states.new_zeros(*shape, value_states.shape[-1])
        self.is_initialized = True

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any,
               **kwargs: Any) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
        count, window = key_states.shape[-2], self.max_cache_len
        places = (torch.arange(count, device=self.device) + self.window_position) % window
        self.window_position.add_(count)
        # Of several tokens the first see what the last ones replace.
        seen = None if count == 1 else (torch.cat([self.keys, key_states], -2),
                                        torch.cat([self.values, value_states], -2))
        kept = min(count, window)
        self.keys.index_copy_(2, places[-kept:], key_states[:, :, -kept:])
        self.values.index_copy_(2, places[-kept:], value_states[:, :, -kept:])
        return seen or (self.keys, self.values)

    def get_mask_sizes(self, query_length: int) -> tuple[int, Any]:
        """How many keys the next tokens see, and what their numbers lack of their positions: one
        offset for each."""
        window = self.max_cache_len
        # The last position that has its place.
        last = self.window_position - (0 if query_length == 1 else 1)
        positions = last - (last - torch.arange(window)) % window
        positions = torch.where(positions < 0, _NOWHERE, positions)
        if query_length > 1:
            new = torch.arange(query_length) + self.window_position
            positions = torch.cat([positions, new])
        return positions.shape[0], positions - torch.arange(positions.shape[0])

    def get_seq_length(self) -> Any:
        return self.window_position if self.is_initialized else 0

    def reset(self) -> None:
        super().reset()
        self.window_position.zero_()


def with_windows(cache: Any, length: int, padded: bool) -> Any:
    """The cache with such layers in place of transformers' own. With pads their layers hold all
    `length` tokens: transformers finds the pads of a window in Python."""
    def layer_for(layer: Any) -> Any:
        if type(layer) is not StaticSlidingWindowLayer:
            return layer
        if padded or layer.max_cache_len >= length:
            return StaticLayer(max_cache_len=length)
        return WindowLayer(layer.max_cache_len)
    cache.layers = [layer_for(layer) for layer in cache.layers]
    return cache
