"""The device that tests run on: NVIDIA's libraries, wherever they are installed, and
what a rank's process has to have in its environment."""
import ctypes
import datetime
import glob
import os
import shutil
import subprocess
import sys

# What tp opens, by the variable that names another path (docs/cuda-runtime.md).
SONAMES = {"TP_CUDA_DRIVER": ["libcuda.so.1"], "TP_NCCL": ["libnccl.so.2"],
           "TP_CUBLASLT": ["libcublasLt.so.13", "libcublasLt.so.12"],
           "TP_CUDNN": ["libcudnn.so.9"]}
MAJOR, MINOR = 75, 76  # CUdevice_attribute


class Missing(Exception):
    """There is no device, or no library to use it with."""


def opened(path):
    try:
        return ctypes.CDLL(path)
    except OSError:
        return None


def folders():
    """Where packages of Python and the toolkit put libraries that the loader does not
    know of."""
    for path in sys.path:
        yield from sorted(glob.glob(os.path.join(path, "nvidia", "*", "lib")))
    for path in ("/usr/local/cuda/lib64", "/usr/local/nvidia/lib64"):
        yield path


def find(sonames):
    """A path that the first of these libraries can be opened by, or None."""
    for soname in sonames:
        if opened(soname):
            return soname
        for folder in folders():
            path = os.path.join(folder, soname)
            if os.path.exists(path):
                return path
    return None


class Device:
    """Device 0 of the driver."""

    def __init__(self):
        self.paths = {}
        self.look_for("TP_CUDA_DRIVER")
        path = self.paths.get("TP_CUDA_DRIVER")
        self.driver = opened(path) if path else None
        if not self.driver:
            raise Missing(f"{path or SONAMES['TP_CUDA_DRIVER'][0]} cannot be opened: there "
                          "is no NVIDIA driver")
        self.call("cuInit", 0)
        # A driver of CUDA 12 runs the libraries of 12, a later one those of both.
        old = self.asked("cuDriverGetVersion") < 13000
        for variable in SONAMES:
            self.look_for(variable, newestFirst=not old)
        self.count = self.asked("cuDeviceGetCount")
        if self.count == 0:
            raise Missing("the NVIDIA driver has no device")
        handle = self.asked("cuDeviceGet", 0)
        text = ctypes.create_string_buffer(128)
        self.call("cuDeviceGetName", text, 127, handle)
        self.name = text.value.decode()
        self.capability = (self.asked("cuDeviceGetAttribute", MAJOR, handle),
                           self.asked("cuDeviceGetAttribute", MINOR, handle))
        # Kernels for a device that is the host have no number.
        self.isFake = self.capability[0] == 0
        for variable in ("TP_CUBLASLT", "TP_NCCL"):
            if variable not in self.paths:
                raise Missing(f"{' or '.join(SONAMES[variable])} is not installed; "
                              f"{variable} names another path")

    def look_for(self, variable, newestFirst=True):
        path = os.environ.get(variable) or find(
            SONAMES[variable][::1 if newestFirst else -1])
        if path:
            self.paths[variable] = path

    def call(self, function, *arguments):
        code = getattr(self.driver, function)(*arguments)
        if code:
            raise Missing(f"{function} fails with CUDA error {code}")

    def asked(self, function, *arguments):
        value = ctypes.c_int()
        self.call(function, ctypes.byref(value), *arguments)
        return value.value

    def chip(self):
        return "host" if self.isFake else "sm_%d%d" % self.capability

    def version(self, variable, function):
        library = opened(self.paths[variable])
        value = ctypes.c_size_t()
        try:
            # The version itself, not where it is to be put.
            if function != "ncclGetVersion":
                getattr(library, function).restype = ctypes.c_size_t
                return getattr(library, function)()
            getattr(library, function)(ctypes.byref(value))
        except AttributeError:
            return 0
        return value.value

    def driver_version(self):
        tool = shutil.which("nvidia-smi")
        if tool and not self.isFake:
            done = subprocess.run([tool, "--query-gpu=driver_version",
                                   "--format=csv,noheader"], capture_output=True, text=True)
            if done.returncode == 0:
                return done.stdout.split()[0]
        return "of CUDA %d" % (self.asked("cuDriverGetVersion") // 1000)

    def describe(self):
        date = datetime.date.today()
        cudnn = self.version("TP_CUDNN", "cudnnGetVersion") if opened(
            self.paths.get("TP_CUDNN", "/")) else 0
        return (f"{self.name} ({self.chip()}), {self.count} of them; driver "
                f"{self.driver_version()}; cuBLASLt "
                f"{self.version('TP_CUBLASLT', 'cublasLtGetVersion')}; NCCL "
                f"{self.version('TP_NCCL', 'ncclGetVersion')}; "
                + (f"cuDNN {cudnn}; " if cudnn else "") +
                f"{date.day} {date:%B %Y}")

    def environment(self, rank=0, ranks=1):
        """Of the process of a rank. Several ranks on one device are, for NCCL, on
        hosts of their own that sockets connect."""
        found = {**os.environ, **self.paths}
        libraries = [os.path.dirname(p) for p in self.paths.values() if "/" in p]
        if not self.isFake:
            found["LD_LIBRARY_PATH"] = os.pathsep.join(
                libraries + [os.environ.get("LD_LIBRARY_PATH", "")]).strip(os.pathsep)
        if ranks > 1:
            found |= {"RANK": str(rank), "WORLD_SIZE": str(ranks)}
        if ranks > self.count or (ranks > 1 and self.isFake):
            found |= {"NCCL_HOSTID": f"h{rank}", "NCCL_SOCKET_IFNAME": "lo",
                      "NCCL_IB_DISABLE": "1", "NCCL_MNNVL_ENABLE": "0"}
            if self.version("TP_NCCL", "ncclGetVersion") >= 23003:
                found["NCCL_MULTI_RANK_GPU_ENABLE"] = "1"
        return found
