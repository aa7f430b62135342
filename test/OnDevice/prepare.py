"""Writes what a machine with a device runs into a folder: artifacts, data and cases.json,
in which every path is relative to the folder. A run needs neither tp's compiler nor
anything else of the machine that prepared it."""
import concurrent.futures
import json
import os
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path[:0] = [os.path.join(ROOT, "test", "EndToEnd"),
                os.path.join(ROOT, "test", "Codegen", "CUDA")]
import kernel_cases
import models as zoo

RANKS = (1, 2, 4)
CPU_RANKS = 8
# Of results without PyTorch's, by element: the device adds in another order than the CPU.
TOLERANCE = {"bf16": ("0.06", "0.03"), "f16": ("0.01", "0.01"), "f32": ("1e-4", "1e-3"),
             "f64": ("1e-10", "1e-10")}
ELEMENTS = {"bfloat16": "bf16", "float16": "f16", "float32": "f32", "float64": "f64",
            "int64": "i64", "int32": "i32", "bool": "i1"}


class Folder:
    """The folder that is written, with the cases whose names `only` finds, and the
    compiler that writes into it."""

    def __init__(self, path, build, chips, keep, only):
        self.path, self.build, self.chips, self.keep = path, build, chips, keep
        self.only = only
        os.makedirs(os.path.join(path, "data"), exist_ok=True)

    def wants(self, name):
        return bool(self.only.search(name))

    def data(self, path):
        """The file's name in the folder: a copy where that has to last, else a link."""
        name = os.path.join("data", os.path.abspath(path).strip("/").replace("/", "_"))
        place = os.path.join(self.path, name)
        if not os.path.exists(place):
            (shutil.copy if self.keep else os.symlink)(os.path.abspath(path), place)
        return name

    def compile(self, model, output, plan, mesh, target="cuda"):
        words = [os.path.join(self.build, "bin", "tp-compile"), model, "-o",
                 os.path.join(self.path, output)]
        words += [f"--plan={plan}"] if plan else []
        words += [f"--mesh={mesh}"] if mesh else []
        words += ["--target=cuda", f"--chip={self.chips}"] if target == "cuda" else []
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError(f"tp-compile: {done.stderr.strip()[-400:]}")


def zoo_cases(folder):
    """The examples and the models of test/EndToEnd, with their plans."""
    examples = os.path.join(ROOT, "examples")
    weights = os.path.join(ROOT, "build", "minilm", "model.safetensors")
    for model in zoo.models(examples, weights if os.path.exists(weights) else None):
        # Of one rank all plans are alike.
        known = [1] if "megatron" in model.plan else []
        for ranks in known + [int(mesh[3:]) for mesh in model.meshes
                              if mesh in ("tp=2", "tp=4")]:
            plan = os.path.basename(model.plan)
            name = f"{model.name} {plan} tp={ranks}"
            if not folder.wants(name):
                continue
            words = [f"--weights={folder.data(os.path.join(model.folder, w))}"
                     for w in model.weights]
            words += [f"--input={i}=@{folder.data(f'{model.folder}/{i}.npy')}"
                      for i in model.inputs]
            words += [*model.tolerance, "--expected-output=@" +
                      folder.data(f"{model.folder}/{model.expected}")]
            yield {"name": name, "kind": "compared", "ranks": ranks, "words": words,
                   "artifact": name.replace(" ", "-") + ".tp"}, (
                f"{model.folder}/model.mlir", lambda m=model, r=ranks: zoo.plan_for(
                    m, f"tp={r}", folder.path), f"tp={ranks}")


def exported_cases(folder, models):
    """Every model of a folder of exported ones, laid out as tp chooses: a manifest.json
    names arguments and results with their files."""
    for name in sorted(os.listdir(models)):
        path = os.path.join(models, name)
        ranks_of = [r for r in RANKS if folder.wants(f"{name} auto tp={r}")]
        if not ranks_of or not os.path.exists(os.path.join(path, "manifest.json")):
            continue
        with open(os.path.join(path, "manifest.json")) as file:
            manifest = json.load(file)
        here = lambda file: os.path.join(path, file)
        inputs = [a for a in manifest["args"] if a["kind"] == "user_input"]
        whole = os.path.exists(here("weights.safetensors")) and manifest["results"]
        case = {"kind": "compared" if whole else "random"}
        if whole:
            words = [f"--weights={folder.data(here('weights.safetensors'))}"]
            words += [f"--input={a['name']}=@{folder.data(here(a['npy']))}"
                      for a in inputs]
            # What was computed in f32 is nearer to the truth than PyTorch's own bf16.
            error = manifest.get("bf16_max_abs_error")
            if error:
                words += [f"--atol={2 * error}", "--rtol=0"]
            # AdamW divides by the size of a gradient, also of one that is all rounding.
            if manifest.get("optimizer") == "adamw":
                words.append(f"--atol={manifest['hyperparameters']['lr'] / 100}")
            for result in manifest.get("references") or manifest["results"]:
                words.append(f"--expected-output=@{folder.data(here(result['npy']))}")
            case["words"] = words
        else:
            case["arguments"] = [
                {"kind": a["kind"], "key": a.get("safetensors_key", a["name"]),
                 "name": a["name"], "shape": a["shape"],
                 "element": ELEMENTS[a["dtype"]]} for a in manifest["args"]]
            elements = [a["element"] for a in case["arguments"]
                        if a["element"] in TOLERANCE]
            atol, rtol = TOLERANCE[elements[0] if elements else "f32"]
            case["tolerance"] = [f"--atol={atol}", f"--rtol={rtol}"]
            case["model"], case["cpu"] = name, f"exported-{name}.cpu.tp"
        for ranks in ranks_of:
            artifact = f"exported-{name}-{ranks}.tp"
            yield {**case, "name": f"{name} auto tp={ranks}", "ranks": ranks,
                   "artifact": artifact}, (here("model.mlir"), lambda: "auto",
                                           f"tp={ranks}")


def kernel_groups(folder, dtypes):
    """Programs of test/Codegen/CUDA with what the CPU target computes."""
    for dtype in dtypes:
        for kind, program in kernel_cases.programs(dtype):
            if not folder.wants(f"kernels {dtype} {kind}"):
                continue
            base = f"kernels-{dtype}-{kind}"
            path = os.path.join(folder.path, base)
            with open(path + ".mlir", "w") as file:
                file.write(program.text())
            words = ["--dtype=bf16"] if dtype == "bf16" else []
            for i, (_, shape, element, data) in enumerate(program.arguments):
                kernel_cases.write_npy(f"{path}.a{i}.npy", shape, element, data)
                words.append(f"--input=argument{i}=@{base}.a{i}.npy")
            results = [{"name": program.names[i], "shape": shape, "element": element,
                        "exact": exact, "file": f"{base}.r{i}.npy"}
                       for i, (_, shape, element, exact) in enumerate(program.results)]
            yield {"name": f"kernels {dtype} {kind}", "kind": "kernels", "ranks": 1,
                   "words": words, "results": results, "artifact": base + ".tp"}, (
                path + ".mlir", lambda: None, None)


def products(folder):
    """The weights of a product as tp stores them, and transposed as files have them, of a
    prompt's rows and of a few."""
    name = "products as stored and transposed"
    if not folder.wants(name):
        return
    # A device that is the host computes slowly.
    rows, n, k = ((32, 8), 96, 64) if folder.chips == "host" else ((4096, 8), 3584, 4096)
    lines = []
    arguments = [f"%w: tensor<{k}x{n}xbf16>", f"%t: tensor<{n}x{k}xbf16>"]
    arguments += [f"%x{m}: tensor<{m}x{k}xbf16>" for m in rows]
    for m in rows:
        c = f"tensor<{m}x{n}xf32>"
        for weight, maps in (("w", "(k, n)"), ("t", "(n, k)")):
            shape = f"{k}x{n}" if weight == "w" else f"{n}x{k}"
            lines.append(f"""
    %e{weight}{m} = tensor.empty() : {c}
    %f{weight}{m} = linalg.fill ins(%zero : f32) outs(%e{weight}{m} : {c}) -> {c}
    %r{weight}{m} = linalg.generic {{indexing_maps = [affine_map<(m, n, k) -> (m, k)>,
        affine_map<(m, n, k) -> {maps}>, affine_map<(m, n, k) -> (m, n)>],
        iterator_types = ["parallel", "parallel", "reduction"]}}
        ins(%x{m}, %{weight} : tensor<{m}x{k}xbf16>, tensor<{shape}xbf16>)
        outs(%f{weight}{m} : {c}) {{
      ^bb0(%a: bf16, %b: bf16, %s: f32):
        %x = arith.extf %a : bf16 to f32
        %y = arith.extf %b : bf16 to f32
        %p = arith.mulf %x, %y : f32
        %q = arith.addf %s, %p : f32
        linalg.yield %q : f32
    }} -> {c}""")
    results = [(f"%r{weight}{m}", f"tensor<{m}x{n}xf32>") for m in rows for weight in "wt"]
    path = os.path.join(folder.path, "products.mlir")
    with open(path, "w") as file:
        file.write(f"""func.func @main({', '.join(arguments)})
    -> ({', '.join(type for _, type in results)}) {{
    %zero = arith.constant 0.0 : f32{''.join(lines)}
    return {', '.join(name for name, _ in results)} : {', '.join(t for _, t in results)}
}}
""")
    yield {"name": name, "kind": "times", "ranks": 1,
           "words": [], "artifact": "products.tp"}, (path, lambda: None, None)


def references(folder, case):
    """What the CPU target computes of a program of kernels."""
    base = os.path.join(folder.path, case["artifact"][:-3])
    subprocess.run([os.path.join(folder.build, "bin", "tp-opt"), base + ".mlir",
                    f"--tp-cpu-compile=output={base}.cpu.tp", "-o", os.devnull],
                   check=True, capture_output=True)
    subprocess.run([os.path.join(folder.build, "bin", "tp-run"), base + ".cpu.tp",
                    "--quiet", *case["words"],
                    *(f"--output=result{i}=@{result['file']}"
                      for i, result in enumerate(case["results"]))],
                   check=True, capture_output=True, cwd=folder.path)


def prepare(folder, models, dtypes):
    """Compiles all cases that the folder wants; returns them, those that do not compile
    with the reason."""
    found = [*zoo_cases(folder), *products(folder), *kernel_groups(folder, dtypes)]
    for path in models:
        found += exported_cases(folder, path)

    def make(item):
        case, (model, plan, mesh) = item
        try:
            folder.compile(model, case["artifact"], plan(), mesh)
            if case["kind"] == "kernels":
                references(folder, case)
            if case["kind"] == "random" and case["ranks"] == 1:
                # Ranks are threads: a core for each.
                folder.compile(model, case["cpu"], "auto", f"tp={CPU_RANKS}",
                               target="cpu")
        except (RuntimeError, subprocess.CalledProcessError) as error:
            case["wrong"] = str(getattr(error, "stderr", None) or error)
        return case

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        cases = list(pool.map(make, found))
    with open(os.path.join(folder.path, "cases.json"), "w") as file:
        json.dump({"chips": folder.chips, "cases": cases}, file, indent=1)
    return cases


def copy_runtime(folder):
    """tp-run and the runtime's tests, and the libraries they need that a bare machine may
    lack. Not the C and C++ libraries: NVIDIA's need those of the machine they are on."""
    for name in ("bin", "lib"):
        os.makedirs(os.path.join(folder.path, name), exist_ok=True)
    tool = os.path.join(folder.build, "bin", "tp-run")
    for name in ("tp-run", "tp-runtime-cuda-tests"):
        shutil.copy(os.path.join(folder.build, "bin", name),
                    os.path.join(folder.path, "bin"))
    for name in ("tp_test_kernels.so", "tp_test_cuda_kernels.so"):
        shutil.copy(os.path.join(folder.build, "lib", name),
                    os.path.join(folder.path, "lib"))
    own = ("libc.", "libm.", "libstdc++.", "libgcc_s.", "ld-linux", "libdl.",
           "libpthread.", "librt.")
    for line in subprocess.check_output(["ldd", tool], text=True).splitlines():
        words = line.split()
        if len(words) > 2 and words[1] == "=>" and not words[0].startswith(own):
            shutil.copy(words[2], os.path.join(folder.path, "lib", words[0]))
