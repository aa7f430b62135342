"""What `python -m tp export factory:make` calls."""
import torch


def make():
    """A module and the arguments of a call."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 8))
    return module, (torch.ones(2, 8),)


def make_none():
    """Not what export wants."""
    return make()[0]
