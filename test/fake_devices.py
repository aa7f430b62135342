"""Devices that are the host: the libraries of test/Fakes instead of NVIDIA's."""

import os

# Options of tp-compile.
OPTIONS = ["--target=cuda", "--chip=host"]


def environment(libraries, cache, cudnn=True):
    """The environment in which ranks find them: `libraries` is the folder with the libraries,
    `cache` one for what is compiled. Without cudnn attention is done by kernels."""
    library = lambda name: os.path.join(libraries, f"libtp_fake_{name}.so")
    return dict(os.environ, TP_CUDA_CACHE=cache, TP_CUDA_DRIVER=library("cuda"),
                TP_NCCL=library("nccl"), TP_CUBLASLT=library("cublaslt"),
                TP_CUDNN=library("cudnn") if cudnn else "off")
