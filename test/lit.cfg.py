import atexit
import os
import shutil
import subprocess
import tempfile
import lit.formats

config.name = "tp"
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Unit", "Inputs"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(config.tp_binary_dir, "test")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(config.tp_binary_dir, "bin"), config.llvm_tools_dir,
     config.environment["PATH"]])
config.substitutions.append(("%examples", os.path.join(config.tp_source_dir, "examples")))
config.substitutions.append(("%python", config.python))
config.substitutions.append(("%tp_build", config.tp_binary_dir))
config.substitutions.append(
    ("%llvm_lib", os.path.join(os.path.dirname(config.llvm_tools_dir), "lib")))
config.substitutions.append(
    ("%llvm_include", os.path.join(os.path.dirname(config.llvm_tools_dir), "include")))
# The Python that the package is built for (TP_PYTHON), and what it can import.
if config.package_python:
    config.available_features.add("python-package")
    config.substitutions.append(("%package_python_alone", config.package_python + " -B"))
    alone = "env PYTHONPATH=%s %s -B" % (
        os.path.join(config.tp_binary_dir, "python"), config.package_python)
    config.substitutions.append(("%package_python", alone))
    modules = ("jax", "ml_dtypes", "mypy", "torch", "torch_mlir", "transformers")
    found = subprocess.check_output(
        [config.package_python, "-c", "import importlib.util as u, sys; "
         "print(*[m for m in sys.argv[1:] if u.find_spec(m)])", *modules], text=True)
    config.available_features.update(name.replace("_", "-") for name in found.split())
    # Scripts that import PyTorch run in forks of a process that has, as long as lit runs.
    FORKS = os.path.join(config.test_source_root, "forked_python.py")
    if {"torch", "torch_mlir", "transformers"} <= set(found.split()) and (
            "TP_SANITIZED" not in os.environ):
        SOCKET = os.path.join(tempfile.mkdtemp(prefix="tp-lit-"), "socket")
        server = subprocess.Popen(
            [config.package_python, "-B", FORKS, "--serve", SOCKET], stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL, env={
                **config.environment, "PYTHONPATH": os.path.join(config.tp_binary_dir, "python")})

        def end_server():
            server.stdin.close()
            try:
                server.wait(60)
            except subprocess.TimeoutExpired:
                server.kill()
        atexit.register(end_server)
        forked = "env PYTHONPATH=%s %s -S -E %s %s %s " % (
            os.path.join(config.tp_binary_dir, "python"), config.python, FORKS, SOCKET,
            config.package_python)
        for name in ("torch", "transformers"):
            config.substitutions.append((f"%{name}_python", forked + name))
    else:
        for name in ("torch", "transformers"):
            config.substitutions.append((f"%{name}_python", alone))
# Set by .ci/sanitizers.
if "TP_SANITIZED" in os.environ:
    config.environment["TP_SANITIZED"] = os.environ["TP_SANITIZED"]
    config.available_features.add("sanitized")
# Fetched by examples/minilm/run.py; 91 MB that no test waits for.
PUBLISHED_WEIGHTS = os.path.join(config.tp_binary_dir, "minilm", "model.safetensors")
config.substitutions.append(("%minilm_weights", PUBLISHED_WEIGHTS))
if os.path.exists(PUBLISHED_WEIGHTS):
    config.available_features.add("published-weights")
# scripts/test.py --all: models that continuous integration leaves out.
if "all-models" in lit_config.params:
    config.available_features.add("all-models")
# openmpi-bin and libopenmpi-dev of Debian, or mpich and libmpich-dev.
if shutil.which("mpirun") and shutil.which("mpicc"):
    config.available_features.add("mpi")
# What scripts/check-format.py calls.
for tool, name in (("git", "git"), ("clang-format", "clang-format-22"),
                   ("clang-tidy", "clang-tidy-22")):
    if shutil.which(name) or os.path.exists(os.path.join(config.llvm_tools_dir, tool)):
        config.available_features.add(tool)
# Devices that are the host.
config.substitutions.append(("%fakes", os.path.join(config.tp_binary_dir, "lib")))
# Kernels of the CUDA target on the host.
config.substitutions.append(
    ("%tp_run_kernels", os.path.join(config.tp_binary_dir, "bin", "tp-run-kernels")))
# Fetched by scripts/check-cuda-headers.py.
if os.path.isdir(os.path.join(config.tp_binary_dir, "cuda-headers", "13")):
    config.available_features.add("cuda-headers")
# Fetched by scripts/cuda-tools.sh; or of a CUDA toolkit.
for ptxas in (os.path.join(config.tp_binary_dir, "cuda-tools", "nvidia", "cu13", "bin", "ptxas"),
              "/usr/local/cuda/bin/ptxas"):
    if os.path.exists(ptxas):
        config.substitutions.append(("%ptxas", ptxas))
        config.available_features.add("ptxas")
        break
