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
from tempfile import TemporaryDirectory

HERE = Path(__file__).resolve().parent
VIEW = HERE.parents[1] / "rbdyn_ros" / "view"
LOOK = ("ORANGE", "GREY", "STEEL", "BLUE", "RED", "GREEN", "_THINNEST", "CART", "CAMERA")
NEEDED = "it needs clang, lld, wasi-libc, libclang-rt-dev-wasm32 and npm, which apt installs"
COMPILE = (
    *("clang", "--target=wasm32-wasi", "-mexec-model=reactor", "-std=c99", "-O2", "-Wall"),
    *("-Wextra", "-Werror", "-fvisibility=hidden", "-Wl,--export-dynamic", "-Wl,--strip-all"),
)
EMPTY = "#include <math.h>\ndouble f(double x) { return sin(x); }"
INSTALL = (
    *("npm", "install", "--ignore-scripts", "--no-audit", "--no-fund", "--no-package-lock"),
    *("--prefer-offline", "--fetch-retries=0"),
)
BUNDLE = ("--bundle", "--minify", "--format=iife", "--target=es2020", "--loader:.wasm=binary")


class Unavailable(Exception):
    """A program or a package that the page is made with is not here."""


def build(out: Path, home: str = "") -> None:
    """Write the page into the folder `out`, with a link to `home` if there is one. Raise
    `Unavailable` where a program or a package is missing, before anything is written.
    """
    with TemporaryDirectory() as folder:
        work = Path(folder)
        for name in ("package.json", "play.js"):
            shutil.copy(HERE / name, work)
        _require(work, (*COMPILE, "-x", "c", "-", "-o", "empty.wasm", "-lm"), EMPTY)
        _require(work, INSTALL)
        _run(work, (*COMPILE, str(HERE / "loop.c"), "-o", "loop.wasm", "-lm"))
        (work / "look.json").write_text(json.dumps(look()), encoding="utf-8")
        _run(work, ("node_modules/.bin/esbuild", "play.js", *BUNDLE, "--outfile=out/play.js"))
        page = (HERE / "index.html").read_text(encoding="utf-8")
        link = f' <a href="{home}">The documentation</a>' if home else ""
        out.mkdir(parents=True, exist_ok=True)
        (out / "index.html").write_text(page.replace("<!--home-->", link), encoding="utf-8")
        shutil.copy(work / "out" / "play.js", out)
        shutil.copy(work / "node_modules" / "three" / "LICENSE", out / "three_license.txt")


def look() -> dict:
    """Return colors, sizes and camera of the live view, as its sources assign them."""
    found: dict = {}
    for path in sorted(VIEW.glob("*.py")):
        for line in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(line, ast.Assign | ast.AnnAssign) and line.value:
                target = line.targets[0] if isinstance(line, ast.Assign) else line.target
                several = isinstance(target, ast.Tuple)
                names = [ast.unparse(t) for t in (target.elts if several else [target])]
                if set(names) & set(LOOK):
                    value = ast.literal_eval(line.value)
                    found |= zip(names, value if several else [value])
    return {name: found[name] for name in LOOK}


def _require(work: Path, command: tuple[str, ...], text: str = "") -> None:
    """Run a command that fails where something is missing."""
    try:
        _run(work, command, text)
    except (OSError, RuntimeError) as error:
        raise Unavailable(f"the page doc/play is not built: {NEEDED}; {error}") from None


def _run(work: Path, command: tuple[str, ...], text: str = "") -> None:
    done = subprocess.run(command, cwd=work, input=text, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed: {done.stderr.strip()}")


def main() -> int:
    """Build the page and print its path; return 1 where something is missing."""
    parser = argparse.ArgumentParser(description=__doc__, allow_abbrev=False)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("--out", type=Path, required=True, metavar="FOLDER", help="where to")
    parser.add_argument("--home", default="", metavar="LINK", help="where its link leads (none)")
    arguments = parser.parse_args()
    try:
        build(arguments.out, arguments.home)
    except Unavailable as missing:
        print(missing, file=sys.stderr)
        return 1
    print(arguments.out / "index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main())
