"""The command line of tests that draw programs."""
import argparse


def parser_of(*paths, count, description=None):
    """A parser that knows `paths`, --seed and --count, which seeds from there on."""
    parser = argparse.ArgumentParser(description=description)
    for path in paths:
        parser.add_argument(path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=count)
    return parser
