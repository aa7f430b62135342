"""Which dimensions of two operands are one loop, for random contractions."""


def draw(rng, a_shape, b_shape, chance):
    """(sizes of all loops, loops of b, contracted loops, loops of the result), or None. The
    loops of a come first. Where sizes are equal, a dimension of b is a loop of a with
    probability `chance`; it is contracted, or a batch."""
    sizes, b_dims, contracted = list(a_shape), [], []
    for size in b_shape:
        same = [d for d in range(len(a_shape)) if a_shape[d] == size and d not in b_dims]
        if same and rng.random() < chance:
            d = rng.choice(same)
            b_dims.append(d)
            if rng.random() < 0.7:
                contracted.append(d)
        else:
            b_dims.append(len(sizes))
            sizes.append(size)
    if not contracted:
        return None
    out = [d for d in range(len(sizes)) if d not in contracted]
    rng.shuffle(out)
    return sizes, b_dims, contracted, out
