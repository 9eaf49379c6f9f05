"""Build the documentation site: the pages of doc/, what they link to, and what the code says.

    ./testbed docs
    ./testbed docs --out FOLDER

A warning of Sphinx ends it, and so does a link within the site that leads nowhere. The pendulum in
the browser (doc/play) is part of the site where the tools that it is made with are installed, and
MathJax, which shows the equations, where npm is; else browsers fetch it from a network.
"""

import argparse
import shutil
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).resolve().parents[1]
STRICT = ("--fail-on-warning", "--keep-going", "--quiet", "--fresh-env")

MATHJAX, SCRIPT = "mathjax@3.2.2", "tex-svg-full.js"  # one file, with every extension and font


class Page(HTMLParser):
    """The names and the links of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.names, self.links = set(), []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list):
        """Note what an element is called and what it leads to."""
        given = dict(attrs)
        self.names |= {given[key] for key in ("id", "name") if given.get(key)}
        self.links += [given[key] for key in ("href", "src") if given.get(key)]


def dead_links(site: Path) -> Iterator[str]:
    """Return a sentence for each link to a file or a name of the site that is not there."""
    pages = {path.resolve(): Page(path) for path in sorted(site.rglob("*.html"))}
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            name = unquote(parts.fragment)
            if not target.is_file():
                yield f"{path.relative_to(site)}: {link} is not there"
            elif name and target in pages and name not in pages[target].names:
                yield f"{path.relative_to(site)}: {link} has no such heading"


def play(folder: Path) -> bool:
    """Build the page with the pendulum in a folder; return whether that could be done, which its
    program says if not.
    """
    build = (
        ROOT / "doc" / "play" / "build.py",
        "--out",
        folder / "play",
        "--home",
        "../index.html",
    )
    command = [sys.executable, *map(str, build)]
    return not subprocess.run(command, stdout=subprocess.DEVNULL).returncode


def mathjax(folder: Path) -> bool:
    """Fetch MathJax with its license into a folder; return whether that could be done, and say why
    not.
    """
    fetch = ("npm", "pack", MATHJAX, "--loglevel=error", "--prefer-offline", "--fetch-retries=0")
    with TemporaryDirectory() as work:
        try:
            done = subprocess.run(fetch, cwd=work, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            why = getattr(error, "stderr", None) or error
            print(
                f"the site's equations need a network: npm brings no MathJax: {why}",
                file=sys.stderr,
            )
            return False
        shutil.unpack_archive(Path(work, done.stdout.split()[-1]), work)
        (folder / "mathjax").mkdir(parents=True)
        for name in (f"es5/{SCRIPT}", "LICENSE"):
            shutil.copy(Path(work, "package", name), folder / "mathjax")
    return True


def main() -> int:
    """Build the site and print the path of its first page; return 1 where something is wrong."""
    parser = argparse.ArgumentParser(
        prog="./testbed docs", description="Build the documentation site.", allow_abbrev=False
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=ROOT / "build" / "docs",
        metavar="FOLDER",
        help="folder of the site (default: build/docs), which is made anew",
    )
    parser.add_argument(
        "--no-play", action="store_true", help="leave out the page with the pendulum"
    )
    arguments = parser.parse_args()
    out = arguments.out.resolve()
    if out.exists() and not (out / "source" / "conf.py").exists():
        parser.error(f"--out {out} is there and is no site; name another folder")
    shutil.rmtree(out, ignore_errors=True)
    unwanted = shutil.ignore_patterns("__pycache__", "play")
    shutil.copytree(ROOT / "doc", out / "source", ignore=unwanted)
    site, settings = out / "html", ROOT / "doc"
    extra = [] if arguments.no_play or not play(out / "extra") else [out / "extra"]
    words = [f"--define=html_extra_path={path}" for path in extra]
    if mathjax(out / "static"):
        words.append(f"--define=html_static_path=site.css,{out / 'static'}")
        words.append(f"--define=mathjax_path=mathjax/{SCRIPT}")
    folders = ("--conf-dir", settings, "--doctree-dir", out / "doctrees", out / "source", site)
    done = subprocess.run([sys.executable, "-m", "sphinx", *STRICT, *words, *map(str, folders)])
    if done.returncode:
        return 1
    faults = list(dead_links(site))
    print("\n".join(faults), file=sys.stderr, end="\n" if faults else "")
    print(site / "index.html")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
