"""The tutorials' blocks of code: what is typed, in its order, and what is printed then.

A block of a page is by its language
- `bash`: commands; each ends with exit code 0; those of this package alone are run in this
  process, for most of what one of their own would take is to import,
- `python` or `yaml` that begins with `# NAME`: a file of that name; other `python` is run,
- `text`: lines that the block before it prints; `…` stands for what differs from run to run, and
  numbers are equal within TOLERANCE.
A line `<!-- not run: WHY -->` before a block says that it needs something, one of REASONS.

    python doc/tutorial_pages.py            # runs all pages, or NAME ..., and keeps their pictures
"""

import math
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import NamedTuple

from rbdyn_ros.__main__ import main as run_command

ROOT = Path(__file__).resolve().parents[1]
FOLDER, IMAGES = ROOT / "doc" / "tutorials", ROOT / "doc" / "images"
PAGES = sorted(FOLDER.glob("*.md"))
REASONS = (
    "it needs ROS 2",
    "it needs a board",
    "it needs an emulator",
    "it opens a window",
    "it takes a minute",
    "it sets the package up",
)
TOLERANCE = 0.05  # relative
LIMIT = 400.0  # [s] for a block on a loaded machine, which may compile first
BLOCK = re.compile(
    r"(?:^<!-- not run: (?P<why>[^\n]+) -->\n+)?^```(?P<language>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
NAME = re.compile(r"# (\S+\.(?:py|yaml|csv))\n")
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
COMMAND = re.compile(r"python -m rbdyn_ros (\w+)[^&|;<>$*`]*")
APART = ("demo", "evaluate", "hil", "view")  # with nodes, workers or a server
PICTURE = re.compile(r"!\[[^\]]+\]\(\.\./images/tutorial_(\S+)\)")


class Block(NamedTuple):
    """A block of code of a page."""

    language: str
    text: str
    why: str  # it is not run; "" if it is

    @property
    def name(self) -> str:
        """The name of the file that the block is; "" if it is none."""
        found = NAME.match(self.text)
        return found[1] if found else ""


def blocks(page: Path) -> list[Block]:
    """Return the blocks of code of a page, in their order."""
    text = page.read_text(encoding="utf-8")
    return [
        Block(found["language"], found["text"], found["why"] or "")
        for found in BLOCK.finditer(text)
    ]


def pictures(page: Path) -> list[str]:
    """Return the names of the pictures of a page that its commands make."""
    return PICTURE.findall(page.read_text(encoding="utf-8"))


def run(page: Path, folder: Path, variables: Mapping[str, str]) -> Iterator[str]:
    """Type a page into a folder, with more variables of the environment; return a sentence for
    each thing that differs from the page.
    """
    shutil.copytree(ROOT / "examples", folder / "examples", ignore=shutil.ignore_patterns("__*"))
    printed, is_skipped, environment = "", False, {**surroundings(), **variables}
    for block in blocks(page):
        if block.language == "text":
            if not is_skipped:
                yield from missing(block.text, printed)
            continue
        is_skipped = bool(block.why)
        if is_skipped:
            continue
        if block.name:
            (folder / block.name).write_text(block.text, encoding="utf-8")
            continue
        code, printed = execute(block, folder, environment)
        if code:
            yield f"exit code {code} of\n{block.text}\nwhich prints\n{printed}"
            return


def surroundings() -> dict[str, str]:
    """Return the environment of a page: this interpreter and this package."""
    paths = [str(Path(sys.executable).parent), os.environ["PATH"]]
    return {
        **os.environ,
        "PATH": os.pathsep.join(paths),
        "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")]),
        "PYTHONUTF8": "1",
        "MPLBACKEND": "Agg",
    }


def execute(block: Block, folder: Path, environment: dict[str, str]) -> tuple[int, str]:
    """Run a block in a folder; return (exit code, what it prints)."""
    if own := commands(block):
        return call(own, folder)
    words = {"bash": ["bash", "-e", "-o", "pipefail", "-c"], "python": [sys.executable, "-c"]}
    done = subprocess.run(
        [*words[block.language], block.text],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        timeout=LIMIT,
    )
    return done.returncode, done.stdout


def commands(block: Block) -> list[list[str]]:
    """Return the words of the commands of this package that a block consists of; none where it has
    something else, or one that needs a process of its own.
    """
    if block.language != "bash":
        return []
    lines = block.text.replace("\\\n", " ").splitlines()
    found = [COMMAND.fullmatch(line) for line in lines]
    are_plain = all(each and each[1] not in APART for each in found)
    return [shlex.split(line)[3:] for line in lines] if are_plain else []


def call(words: list[list[str]], folder: Path) -> tuple[int, str]:
    """Run commands of this package in a folder until one fails, in this process; return (exit
    code, what they print).
    """
    here, code = Path.cwd(), 0
    with tempfile.TemporaryFile("w+", encoding="utf-8") as said:
        os.chdir(folder)
        try:
            with redirect_stdout(said), redirect_stderr(said):
                for each in words:
                    if code := run_command(each):
                        break
        except SystemExit as refused:  # by its parser
            code = int(refused.code or 0)
        finally:
            os.chdir(here)
        said.seek(0)
        return code, said.read()


def missing(expected: str, printed: str) -> Iterator[str]:
    """Return a sentence for each expected line that was not printed."""
    lines = [" ".join(line.split()) for line in printed.splitlines()]
    for line in filter(None, (" ".join(line.split()) for line in expected.splitlines())):
        if not any(is_equal(line, other) for other in lines):
            yield f"not printed: {line}\nbut\n{printed}"


def is_equal(expected: str, line: str) -> bool:
    """Return whether a line is as expected, with numbers within the tolerance."""
    pieces = re.split(rf"(…|{NUMBER})", expected)
    pattern = "".join(
        re.escape(piece) if at % 2 == 0 else ".*" if piece == "…" else f"({NUMBER})"
        for at, piece in enumerate(pieces)
    )
    found = re.fullmatch(pattern, line)
    numbers = [piece for piece in pieces[1::2] if piece != "…"]
    return bool(found) and all(
        math.isclose(float(a), float(b), rel_tol=TOLERANCE)
        for a, b in zip(numbers, found.groups(), strict=True)
    )


def main() -> int:
    """Run the pages, or those that are named; keep their pictures."""
    faults = 0
    for page in [path for path in PAGES if path.stem in sys.argv[1:]] or PAGES:
        with tempfile.TemporaryDirectory() as name:
            for fault in run(page, Path(name), {}):
                print(f"{page.name}: {fault}")
                faults += 1
            for picture in pictures(page):
                if (made := Path(name) / picture).is_file():
                    shutil.copy(made, IMAGES / f"tutorial_{picture}")
    return min(faults, 1)


if __name__ == "__main__":
    sys.exit(main())
