#!/usr/bin/env python3
"""Plans that tp chooses, against PyTorch's results and Megatron's plans:
auto_plan.py FOLDER EXAMPLES [WEIGHTS] [--all]

Every model of models.py that has a Megatron plan is compiled with --plan=auto for 2 or
4 ranks in turn, with --all for both, and run on that many (MiniLM with its published weights, if there); so are
the generated training steps of Llama, GPT-2 and BERT, without running. The plan that is
written has to give what was chosen. Where Megatron's plan leaves weights whole a plan
says so and leaves the rest to tp. Then it may send no more bytes than under Megatron's
plan, and hold no more weights. Prints a line per run and ends with how many were good; exit
status 1 if one was not.
"""
import dataclasses
import json
import os
import subprocess
import sys

from models import models, parser_of

# Weights that Megatron's plan of a model does not split. GPT-2 reads the word embedding
# under the name of the head that it is tied to.
WHOLE = {"hf_gpt2": ["lm_head.weight", "transformer.wpe.weight"],
         "bert": ["parameter:bert.embeddings.position_embeddings.weight",
                  "parameter:bert.embeddings.token_type_embeddings.weight",
                  "parameter:cls.predictions.transform.dense.weight"],
         "gpt2": ["parameter:transformer.wpe.weight"],
         "minilm": ["embeddings.position_embeddings.weight",
                    "embeddings.token_type_embeddings.weight"]}


@dataclasses.dataclass
class Step:
    """A generated training step."""
    name: str
    folder: str
    plan: str = "tensor-parallel"


def training_steps(folder):
    generate = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..",
                            "bench", "generate")
    for name in ("llama", "gpt2", "bert"):
        step = Step(name, f"{folder}/{name}-training")
        subprocess.run([generate, name, "--program=training", "--layers=2", "--dim=64",
                        "--heads=8", "--kv-heads=8", "--ff=160", "--vocab=256", "--seq=16",
                        "--batch=2", "--mesh=tp=2", "-o", step.folder],
                       check=True, capture_output=True, text=True)
        yield step


def compiled(model, plan, mesh, name, *options):
    """The report of the model compiled to `name`.tp, and what was said."""
    done = subprocess.run(["tp-compile", f"{model.folder}/model.mlir", "-o", f"{name}.tp",
                           f"--plan={plan}", f"--mesh={mesh}", f"--report={name}.json",
                           *options], check=True, capture_output=True, text=True)
    with open(f"{name}.json") as file:
        return json.load(file), done.stderr


def ring_bytes(report):
    return sum(row["count"] * row["ring_bytes_per_rank"] for row in report["collectives"])


def differs(model, mesh, name):
    """What tp-run says where results are not PyTorch's, or None."""
    weights = [f"--weights={os.path.join(model.folder, file)}" for file in model.weights]
    inputs = [f"--input={i}=@{model.folder}/{i}.npy" for i in model.inputs]
    done = subprocess.run(["tp-run", f"{name}.tp", f"--ranks={mesh[len('tp='):]}", "--poison",
                           *weights, *inputs, *model.tolerance,
                           f"--expected-output=@{model.folder}/{model.expected}"],
                          check=True, capture_output=True, text=True)
    return None if ": equal," in done.stdout else done.stdout


def outcome(model, mesh, folder, hasWeights):
    """"good", or what went wrong."""
    name = f"{folder}/{model.name}-{mesh}"
    chosen, warnings = compiled(model, "auto", mesh, name, f"--write-plan={name}.plan.mlir")
    again, _ = compiled(model, f"{name}.plan.mlir", mesh, f"{name}-again")
    if warnings or ring_bytes(again) != ring_bytes(chosen) or (
            again["memory"]["weights"] != chosen["memory"]["weights"]):
        return warnings or "the plan that was written gives something else"
    if hasWeights and (difference := differs(model, mesh, name)):
        return difference
    if model.name in WHOLE:
        plan = f"{name}-whole.plan.mlir"
        with open(plan, "w") as file:
            file.write('#mesh = #tp.mesh<"tp" = 2>\ntp.plan @rest on #mesh["tp"] auto {\n')
            for weight in WHOLE[model.name]:
                file.write(f'  tp.argument "{weight}" replicate\n')
            file.write("}\n")
        chosen, _ = compiled(model, plan, mesh, f"{name}-whole")
    plan = os.path.join(model.folder, model.plan + ".plan.mlir")
    given, _ = compiled(model, plan, mesh, f"{name}-given")
    if ring_bytes(chosen) > ring_bytes(given):
        return f"{ring_bytes(chosen)} ring bytes, {ring_bytes(given)} under {model.plan}"
    if chosen["memory"]["weights"] > given["memory"]["weights"]:
        return (f"weights take {chosen['memory']['weights']} bytes, "
                f"{given['memory']['weights']} under {model.plan}")
    return f"good, {ring_bytes(chosen)} of {ring_bytes(given)} ring bytes"


def main():
    parser = parser_of(__doc__)
    parser.add_argument("--all", action="store_true")
    options = parser.parse_args()
    folder, examples, weights = options.folder, options.examples, options.weights
    os.makedirs(folder, exist_ok=True)
    good = wrong = 0
    given = [model for model in models(examples, weights or "none")
             if os.path.basename(model.plan) == "megatron"]
    meshes = ("tp=2", "tp=4")
    for number, model in enumerate([*given, *training_steps(folder)]):
        for mesh in meshes if options.all else meshes[number % 2:][:1]:
            try:
                hasWeights = hasattr(model, "weights") and (
                    weights or model.name != "minilm")
                what = outcome(model, mesh, folder, hasWeights)
            except subprocess.CalledProcessError as error:
                what = error.stderr.strip() or f"ends with {error.returncode}"
            good += what.startswith("good")
            wrong += not what.startswith("good")
            print(f"{model.name} {mesh}: {what}", flush=True)
    print(f"{good} good, {wrong} wrong")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
