"""Bundles what the console in the browser uses of npm into the package, where it is committed: who
installs streamsql needs neither Node nor the network.

`npm ci` fetches by scripts/console/package-lock.json, whose hashes it checks, and runs no script of
any package. Usage: scripts/vendor.py [--check]; with --check nothing is written, and the exit code
tells whether what is committed is what comes out: 1 if it is not, 2 if nothing could be fetched.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
SOURCES = ROOT / "scripts" / "console"
WORK = ROOT / "build" / "console"
TARGET = ROOT / "streamsql" / "server" / "console" / "static" / "vendor"
BUNDLES = ("codemirror", "dagre", "ui", "uplot")
STYLES = {"uplot.css": "uplot/dist/uPlot.min.css"}


def fetch() -> Path:
    """The packages of the lock file, below `build/`; where they are."""
    WORK.mkdir(parents=True, exist_ok=True)
    for source in SOURCES.iterdir():
        shutil.copy(source, WORK)
    subprocess.run(
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        cwd=WORK,
        check=True,
    )
    return WORK / "node_modules"


def bundle(modules: Path) -> dict[str, bytes]:
    """The files by their names, each bundle one ES module."""
    found = {name: (modules / path).read_bytes() for name, path in STYLES.items()}
    for name in BUNDLES:
        command = [
            *(str(modules / ".bin" / "esbuild"), f"{name}.js", "--bundle", "--minify"),
            *("--format=esm", "--target=es2022", "--legal-comments=none", "--log-level=warning"),
        ]
        done = subprocess.run(command, cwd=WORK, check=True, capture_output=True)
        found[f"{name}.js"] = done.stdout
    found["LICENSES.txt"] = licences(modules)
    return found


def licences(modules: Path) -> bytes:
    """The licence of every package that a bundle may hold a part of."""
    lock = json.loads((SOURCES / "package-lock.json").read_text("utf-8"))
    parts = []
    for path, package in sorted(lock["packages"].items()):
        if not path or package.get("dev"):
            continue
        folder = WORK / path
        text = next(
            file.read_text("utf-8") for file in sorted(folder.iterdir()) if "LICENSE" in file.name
        )
        name = path.removeprefix("node_modules/")
        parts.append(f"{name} {package['version']} ({package['license']})\n\n{text.strip()}\n")
    return ("\n" + "-" * 72 + "\n\n").join(parts).encode()


def main() -> int:
    try:
        modules = fetch()
    except subprocess.CalledProcessError:
        print("npm cannot fetch the packages", file=sys.stderr)
        return 2
    made = bundle(modules)
    there = {path.name: path.read_bytes() for path in TARGET.glob("*") if path.is_file()}
    changed = sorted(
        name for name in made.keys() | there.keys() if made.get(name) != there.get(name)
    )
    if "--check" in sys.argv[1:]:
        print(f"differs: {', '.join(changed)}" if changed else "as committed")
        return 1 if changed else 0
    TARGET.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if name in made:
            (TARGET / name).write_bytes(made[name])
        else:
            (TARGET / name).unlink()
    print(f"written: {', '.join(changed) or 'nothing new'}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
