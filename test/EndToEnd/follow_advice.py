"""Follows every advice of an explanation: each makes a plan that compiles and that sends
no more bytes, and all of a plan's advice together does too.

    follow_advice.py FOLDER MODEL.mlir PLAN.mlir [--without=MODULE] [--mesh=tp=8]
"""

import argparse
import json
import os
import re
import subprocess
import sys


def explained(folder, model, plan, mesh):
    path = os.path.join(folder, "explanation.json")
    done = subprocess.run(["tp-compile", model, f"--plan={plan}", f"--explain={path}"] + mesh,
                          capture_output=True, text=True, timeout=600)
    if done.returncode:
        sys.exit(f"{plan}: {done.stderr[-4000:]}")
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def edited(text, advice):
    """The plan with one advice followed."""
    option = re.search(r"write '(.*)' at this entry, (.*)", advice)
    if option:
        lines = text.split("\n")
        for place in option.group(2).split(", "):
            number = int(place.split(":")[-2]) - 1
            line = lines[number]
            lines[number] = (line.replace("{", "{" + option.group(1) + ", ", 1)
                             if "{" in line else line + " {" + option.group(1) + "}")
        return "\n".join(lines)
    entry = re.search(r"write '(.*)' in the plan", advice)
    end = text.rindex("}")
    return text[:end] + "  " + entry.group(1) + "\n" + text[end:]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("model")
    parser.add_argument("plan")
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("--mesh")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    mesh = [f"--mesh={options.mesh}"] if options.mesh else []
    tried = os.path.join(options.folder, "tried.mlir")

    def explain(text):
        with open(tried, "w", encoding="utf-8") as file:
            file.write(text)
        return explained(options.folder, options.model, tried, mesh)

    with open(options.plan, encoding="utf-8") as file:
        text = "".join(line for line in file
                       if not any(f'"{module}"' in line for module in options.without))
    before = explain(text)
    advice = {change["implicit"] for collective in before["collectives"]
              for change in collective["cause"]["changes"] if "implicit" in change}
    followed = sorted(line for line in advice if line.startswith("to ask for it"))
    if not followed:
        sys.exit("expected advice")
    together = text
    for line in followed:
        # Options first: they are at lines of the plan as it was given.
        together = edited(together, line) if " at this entry" in line else together
    for line in followed:
        together = edited(together, line) if " in the plan" in line else together
    for name, plan in [(line, edited(text, line)) for line in followed] + [("all", together)]:
        after = explain(plan)
        for key in ("ring_bytes_per_rank", "implicit"):
            if after["total"][key] > before["total"][key]:
                sys.exit(f"{name}: expected at most {before['total'][key]} of {key}, got "
                         f"{after['total'][key]}")
    print(f"{len(followed)} followed, {before['total']['implicit']} -> "
          f"{after['total']['implicit']} implicit")


main()
