"""Build the page that shows the pendulum without an installation.

    python doc/play/build.py --out FOLDER

clang compiles loop.c to WebAssembly, npm fetches three.js, and esbuild puts these and play.js into
one script. So the page works from a web server and as a file. FOLDER is made if it is not there.
"""

import argparse
import ast
import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
WORK = ROOT / "build" / "play"  # where npm puts its packages
VIEW = ROOT / "rbdyn_ros" / "view"
NEEDED = "it needs clang, lld, wasi-libc, libclang-rt-dev-wasm32 and npm, which apt installs"
COMPILE = (
    *("clang", "--target=wasm32-wasi", "-mexec-model=reactor", "-std=c99", "-O2", "-Wall"),
    *("-Wextra", "-Werror", "-fvisibility=hidden", "-Wl,--export-dynamic", "-Wl,--strip-all"),
)
EMPTY = "#include <math.h>\ndouble f(double x) { return sin(x); }"
BUNDLE = ("--bundle", "--minify", "--format=iife", "--target=es2020", "--loader:.wasm=binary")


class Unavailable(Exception):
    """A program or a package that the page is made with is not here."""


def build(out: Path, home: str = "") -> None:
    """Write the page into the folder `out`, with a link to `home` if there is one. Raise
    `Unavailable` where a program or a package is missing.
    """
    out.mkdir(parents=True, exist_ok=True)
    WORK.mkdir(parents=True, exist_ok=True)
    _require(("npm", "--version"))
    _require((*COMPILE, "-x", "c", "-", "-o", str(WORK / "empty.wasm"), "-lm"), EMPTY)
    shutil.copy(HERE / "package.json", WORK)
    _require(
        ("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock")
    )
    _run((*COMPILE, str(HERE / "loop.c"), "-o", str(WORK / "loop.wasm"), "-lm"))
    shutil.copy(HERE / "play.js", WORK)
    (WORK / "look.json").write_text(json.dumps(look()), encoding="utf-8")
    _run(
        ("node_modules/.bin/esbuild", "play.js", *BUNDLE, f"--outfile={out.resolve() / 'play.js'}")
    )
    page = (HERE / "index.html").read_text(encoding="utf-8")
    link = f' <a href="{home}">The documentation</a>' if home else ""
    (out / "index.html").write_text(page.replace("<!--home-->", link), encoding="utf-8")
    shutil.copy(WORK / "node_modules" / "three" / "LICENSE", out / "three_license.txt")


def look() -> dict:
    """Return colors, sizes and camera of the live view, as they are in its sources."""
    found: dict = {"FOV": 0.85}
    for name in ("drawing", "page", "source"):
        for line in ast.parse((VIEW / f"{name}.py").read_text(encoding="utf-8")).body:
            if isinstance(line, (ast.Assign, ast.AnnAssign)) and line.value is not None:
                _assign(line, found)
    return found


def _assign(line: ast.Assign | ast.AnnAssign, found: dict) -> None:
    """Add the names that a line gives plain values."""
    target = line.targets[0] if isinstance(line, ast.Assign) else line.target
    try:
        value = ast.literal_eval(line.value or target)
    except ValueError:  # no plain value
        return
    if isinstance(target, ast.Tuple):
        found |= zip(map(ast.unparse, target.elts), value)
    else:
        found[ast.unparse(target)] = value


def _require(command: tuple[str, ...], text: str = "") -> None:
    try:
        _run(command, text)
    except (OSError, RuntimeError) as error:
        raise Unavailable(f"the page doc/play is not built: {NEEDED}; {error}") from None


def _run(command: tuple[str, ...], text: str = "") -> None:
    done = subprocess.run(command, cwd=WORK, input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()}")


def main() -> int:
    """Build the page and print its path; return 1 where something is missing."""
    parser = argparse.ArgumentParser(prog="build.py", description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where to")
    out = parser.parse_args().out
    try:
        build(out)
    except Unavailable as missing:
        print(missing, file=sys.stderr)
        return 1
    print(out / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
