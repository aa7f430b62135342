"""What a cross entropy is to be like, its inputs, and its value by the formula, in double
precision."""

import dataclasses
import math
import random

IGNORED = -100


@dataclasses.dataclass
class Case:
    rows: int = 6
    classes: int = 12
    # rows: logits are [rows, classes]; shifted: [2, rows/2 + 1, classes], without the
    # last position of each and against the next label; padded: [2, rows/2, classes]
    # against the next label, an ignored one after the last; channels: [2, classes, rows/2]
    shape: str = "rows"
    # What reads the largest logit of a row: with its index, as amax does, alone, by
    # maxnumf, or by linalg.reduce (named)
    maximum: str = "index"
    # exported: x - max - log(sum); softmax: log(exp / sum); named: log of linalg.softmax;
    # guarded: x - lse, the maximum 0 where it is infinite; fused: lse - picked
    form: str = "exported"
    # gather, one-hot (the class's index compared with the label), probabilities; or, of
    # the fused form, within: one op for a row's loss, or within-sum: one for their sum
    target: str = "gather"
    reduction: str = "mean"
    weighted: bool = False
    smoothing: float = 0.0
    z_loss: float = 0.0
    ignore: bool = True
    # The type that the logits are rounded to and that the logarithms have
    element: str = "f32"
    widened: bool = False
    # The last third of the classes has logits of -infinity
    absent: bool = False
    # The gradient of the mean by the logits is a second result
    gradient: bool = False


def numbers(case, seed):
    """Logits (row by row), labels or probabilities, weights."""
    rng = random.Random(seed)
    # Sixteenths, which every float type here holds exactly.
    logits = [[rng.randint(-64, 64) / 16 for _ in range(case.classes)]
              for _ in range(case.rows)]
    classes = case.classes
    if case.absent:
        classes -= classes // 3
        logits = [row[:classes] + [-math.inf] * (case.classes - classes)
                  for row in logits]
    if case.target == "probabilities":
        labels = []
        for _ in range(case.rows):
            row = [rng.random() for _ in range(case.classes)]
            labels.append([value / sum(row) for value in row])
    else:
        # The ends of the vocabulary first, then anywhere, so that no rank is spared.
        ends = [0, classes - 1, classes // 2, classes // 2 - 1]
        labels = [ends[i] if i < 4 else rng.randrange(classes)
                  for i in range(case.rows)]
        if case.ignore:
            labels[-2] = IGNORED
        if case.shape == "padded":
            labels[case.rows // 2 - 1] = labels[-1] = IGNORED
    weight = [rng.randint(1, 8) / 4 for _ in range(case.classes)]
    return logits, labels, weight


def expected(case, logits, labels, weight):
    """The results: the loss of every row or one number, and perhaps the gradient."""
    losses, smooth, divisors, squares = [], [], [], 0.0
    w = weight if case.weighted else [1.0] * case.classes
    for row, label in zip(logits, labels):
        largest = max(row)
        lse = largest + math.log(sum(math.exp(x - largest) for x in row))
        squares += lse * lse
        if case.target == "probabilities":
            target = [(1 - case.smoothing) * q + case.smoothing / case.classes
                      for q in label]
            losses.append(-sum(q * (x - lse) for q, x in zip(target, row)))
            divisors.append(1.0)
            continue
        isCounted = label != IGNORED
        losses.append(-w[label] * (row[label] - lse) if isCounted else 0.0)
        smooth.append(-sum(c * (x - lse) for c, x in zip(w, row)) if isCounted else 0.0)
        divisors.append(w[label] if isCounted else 0.0)
    if case.smoothing and case.target != "probabilities":
        losses = [(1 - case.smoothing) * a + case.smoothing / case.classes * b
                  for a, b in zip(losses, smooth)]
    if case.reduction == "none":
        return [losses]
    total = sum(losses)
    if case.reduction == "mean":
        total /= sum(divisors)
    results = [[total + case.z_loss * squares]]
    if case.gradient:
        gradient = []
        for row, label, divisor in zip(logits, labels, divisors):
            largest = max(row)
            powers = [math.exp(x - largest) for x in row]
            gradient.append([divisor * (x / sum(powers) - (c == label)) / sum(divisors)
                             for c, x in enumerate(powers)])
        results.append(gradient)
    return results
