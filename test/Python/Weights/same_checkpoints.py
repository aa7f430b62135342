"""Compares two checkpoints, all bits: same_checkpoints.py FOLDER FOLDER."""
from __future__ import annotations

import sys

import numpy as np
from tp.ranks import checkpoint_folder

first, second = (checkpoint_folder.read(folder) for folder in sys.argv[1:])
for one, other in ((first.model, second.model), (first.state, second.state)):
    assert sorted(one) == sorted(other), (sorted(one), sorted(other))
    for name, stored in one.items():
        assert stored.dtype is other[name].dtype, name
        np.testing.assert_array_equal(stored.bits, other[name].bits, name)
print("same:", sorted(first.model), sorted(first.state))
