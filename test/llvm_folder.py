"""Where LLVM is: `bin`, `lib` and `include` of the one whose tools are used."""
import os
import shutil
import subprocess


def llvm_folder() -> str:
    """That of the mlir-opt of the search path, which lit's tests have; else what
    llvm-config says, as for CMakeLists.txt."""
    tool = shutil.which("mlir-opt")
    if tool:
        return os.path.dirname(os.path.dirname(os.path.realpath(tool)))
    config = shutil.which("llvm-config-22") or shutil.which("llvm-config")
    if not config:
        raise FileNotFoundError("no mlir-opt and no llvm-config in the search path")
    return subprocess.run([config, "--prefix"], check=True, stdout=subprocess.PIPE,
                          text=True).stdout.strip()
