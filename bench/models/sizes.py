"""The sizes of a transformer."""

import dataclasses


@dataclasses.dataclass
class Sizes:
    dim: int = 512
    layers: int = 4
    heads: int = 8
    # As many as heads, unless given.
    kv_heads: int = None
    ff: int = 1376
    vocab: int = 2048
    batch: int = 1
    seq: int = 128
    # Rows of a learned table of positions.
    positions: int = 1024
    experts: int = 4

    def __post_init__(self):
        if self.kv_heads is None:
            self.kv_heads = self.heads

    @property
    def head_dim(self):
        return self.dim // self.heads

    def with_layers(self, layers):
        return dataclasses.replace(self, layers=layers)

    def check(self):
        if self.dim % self.heads or self.heads % self.kv_heads or self.head_dim % 2:
            raise SystemExit(
                "error: expected heads that divide dim into an even head size and "
                f"kv-heads that divide heads, got dim {self.dim}, heads {self.heads}, "
                f"kv-heads {self.kv_heads}")


def add_arguments(parser):
    for field in dataclasses.fields(Sizes):
        parser.add_argument("--" + field.name.replace("_", "-"), type=int,
                            default=field.default)


def of_arguments(options):
    sizes = Sizes(**{field.name: getattr(options, field.name)
                     for field in dataclasses.fields(Sizes)})
    sizes.check()
    return sizes
