"""Damages copies of a checkpoint, and prints the error of a command that reads each.

    damage.py CHECKPOINT COMMAND... OPTION      OPTION gets =c, the damaged folder
"""
import json
import os
import re
import shutil
import subprocess
import sys

INDEX = "model.safetensors.index.json"
good, command = sys.argv[1], sys.argv[2:]


def name(kind):
    return next(name for name in os.listdir("c") if name.startswith(kind + "-"))


def remove(file):
    os.remove(os.path.join("c", file))


def edit(kind, change):
    path = os.path.join("c", name(kind))
    with open(path, "rb") as file:
        data = file.read()
    with open(path, "wb") as file:
        file.write(change(data))


def index(change):
    path = os.path.join("c", INDEX)
    with open(path) as file:
        value = json.load(file)
    changed = change(value)
    with open(path, "w") as file:
        file.write(changed if isinstance(changed, str) else json.dumps(value))


def own(value):
    return value["metadata"]["tp"]


DAMAGES = {
    "no index": lambda: remove(INDEX),
    "no model": lambda: remove(name("model")),
    "no state": lambda: remove(name("state")),
    "cut": lambda: edit("model", lambda data: data[:-4]),
    "longer": lambda: edit("state", lambda data: data + b"x"),
    "empty": lambda: edit("state", lambda data: b""),
    "flipped": lambda: edit("model", lambda data: data[:-1] + bytes([data[-1] ^ 1])),
    "text": lambda: index(lambda value: "{"),
    "list": lambda: index(lambda value: "[]"),
    "no map": lambda: index(lambda value: value.pop("weight_map") and None),
    "foreign": lambda: index(lambda value: value.pop("metadata") and None),
    "version": lambda: index(lambda value: own(value).update(version=2)),
    "no files": lambda: index(lambda value: own(value).pop("files") and None),
    "other file": lambda: index(lambda value: value["weight_map"].update(cache="other")),
    "outside": lambda: index(lambda value: own(value)["files"].update(
        {"../x": {"bytes": 1, "crc32": "00000000"}})),
    "more keys": lambda: index(lambda value: value["weight_map"].update(
        {"up.bias": name("model")})),
    "fewer keys": lambda: index(lambda value: value["weight_map"].pop("cache") and None),
    "twice": lambda: index(lambda value: own(value)["state"].update(cache=name("model"))),
}
for what, damage in DAMAGES.items():
    shutil.rmtree("c", ignore_errors=True)
    shutil.copytree(good, "c")
    damage()
    run = subprocess.run([*command[:-1], command[-1] + "=c"], capture_output=True, text=True)
    assert run.returncode == 1 and not run.stdout, (what, run)
    text = re.sub(r"(model|state)-[0-9a-f]{8}-", r"\1-ID-", run.stderr.strip())
    text = re.sub(r"CRC-32 [0-9a-f]{8}, expected [0-9a-f]{8}", "CRC-32 CRC, expected CRC", text)
    print(f"{what}: {text.removeprefix('tp-run: error: ')}")
print(f"{len(DAMAGES)} errors")
