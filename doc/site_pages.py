"""What the documentation site has besides the pages of doc/, as text.

The pages are Markdown that is read in the repository as well, so three things are made while the
site is built. A link out of doc/ gets a page: that Markdown file, or the text of a source. A line
`<!-- site: NAME -->` is replaced by what the code itself says: the help of every command, every
parameter, the public names. The lists of index.md are the table of contents.
"""

import ast
import os
import re
from collections.abc import Iterator
from importlib import import_module
from inspect import getsource
from pathlib import Path, PurePosixPath
from textwrap import dedent
from types import ModuleType
from typing import get_type_hints

from rbdyn_ros.schema import Parameter

OUTSIDE = "outside"  # the folder of the site that has what is not in doc/
LINK = re.compile(
    r"(?P<image>!?)\[(?P<text>[^\]]*)\]\((?P<target>[^()\s:#]+)(?P<anchor>#[^()\s]*)?\)"
)
MARK = re.compile(r"^<!-- site: (\w+) -->$", re.MULTILINE)
PLAY = '<a href="play/index.html">Try the pendulum in this browser</a>, without an installation.'
FOLDERS = ("doc", "doc/tutorials")  # of the pages of the site
PAGES = (".md", ".rst")
IMAGES = (".png", ".svg", ".gif", ".webp")
# the public interface, then the modules whose functions the pages call
API = (
    *("rbdyn_ros", "rbdyn_ros.types", "rbdyn_ros.pendulum.spherical_pendulum"),
    *("rbdyn_ros.integrators.select", "rbdyn_ros.integrators.step"),
)
LANGUAGES = {".py": "python", ".yaml": "yaml", ".xml": "xml", ".json": "json"}


def resolve(target: str, page: PurePosixPath) -> PurePosixPath:
    """Return the path in the repository of what a page links to."""
    return PurePosixPath(os.path.normpath(page.parent / target))


def place(path: PurePosixPath) -> PurePosixPath:
    """Return where the site has a file of the repository; a source is a page with its text."""
    if path.parts[0] == "doc":
        return path.relative_to("doc")
    outside = PurePosixPath(OUTSIDE) / path
    return outside if path.suffix in PAGES else outside.with_name(f"{path.name}.md")


def links(text: str, page: PurePosixPath, root: Path) -> Iterator[tuple[re.Match, PurePosixPath]]:
    """Return the links of a page to files of the repository, a folder's being its README.md."""
    for found in LINK.finditer(text):
        path = resolve(found["target"], page)
        if (root / path / "README.md").is_file():
            path /= "README.md"
        if (root / path).exists():
            yield found, path


def rewrite(text: str, page: PurePosixPath, root: Path) -> str:
    """Return a page with its links changed to the places of the site.

    A folder without a page of its own, and a picture elsewhere than in doc/, have no place there:
    of a link to one the text stays. A link that reads as the name of a file gets the title of its
    page, which MyST puts where there is no text.
    """
    parts, end = [], 0
    for found, path in links(text, page, root):
        parts.append(text[end : found.start()])
        end = found.end()
        if (root / path).is_dir() or (path.suffix in IMAGES and path.parts[0] != "doc"):
            parts.append(found["text"])
            continue
        target = os.path.relpath(place(path), place(page).parent)
        text_of_link = "" if found["text"].endswith(path.name) else found["text"]
        parts.append(f"{found['image']}[{text_of_link}]({target}{found['anchor'] or ''})")
    return "".join([*parts, text[end:]])


def pages(root: Path) -> list[Path]:
    """Return the pages of doc/ and of its tutorials."""
    return [path for folder in FOLDERS for path in sorted((root / folder).glob("*.md"))]


def outside(root: Path) -> dict[PurePosixPath, str]:
    """Return the pages that the pages of doc/ lead to, by their places in the site."""
    todo = [PurePosixPath(path.relative_to(root)) for path in pages(root)]
    made, seen = {}, set(todo)
    for path in todo:
        text = (root / path).read_text(encoding="utf-8")
        if path.suffix == ".md":
            new = {
                other
                for _, other in links(text, path, root)
                if (root / other).is_file() and other.suffix not in IMAGES
            } - seen
            todo += sorted(new)
            seen |= new
        if path.parts[0] != "doc":
            made[place(path)] = as_page(text, path, root)
    return made


def as_page(text: str, path: PurePosixPath, root: Path) -> str:
    """Return the page of a file outside of doc/."""
    if path.suffix == ".rst":
        return f":orphan:\n\n{text}"
    if path.suffix != ".md":
        text = f"# {path}\n\n````{LANGUAGES.get(path.suffix, 'text')}\n{text.rstrip()}\n````\n"
    return f"---\norphan: true\n---\n\n{rewrite(text, path, root)}"


def contents(index: str) -> str:
    """Return index.md with a table of contents for each of its lists, which Furo shows beside
    every page.
    """
    head, *sections = re.split(r"^(?=## )", index, flags=re.MULTILINE)
    made = [head]
    for section in sections:
        entries = "\n".join(
            f"{found['text']} <{found['target']}>" for found in LINK.finditer(section)
        )
        options = f":hidden:\n:caption: {section.splitlines()[0][3:]}"
        made.append(f"{section.rstrip()}\n\n```{{toctree}}\n{options}\n\n{entries}\n```\n\n")
    return "".join(made)


def fill(text: str, root: Path) -> str:
    """Return a page with what the code says in place of its marks."""
    return MARK.sub(lambda found: MADE[found[1]](root), text)


def commands(root: Path) -> str:
    """Return the help of ./testbed and of every command, a section each."""
    from bootstrap.command_line import make_parser
    from rbdyn_ros import __main__ as program

    os.environ["COLUMNS"] = "80"  # argparse fills lines to the width of the terminal
    helps = {"./testbed": make_parser().format_help().replace(f"{root}/", "./")}
    helps |= {name: program.parser(name).format_help() for name in program.command_names()}
    return "\n".join(f"## {name}\n\n```text\n{text}```\n" for name, text in helps.items())


def parameters(root: Path) -> str:
    """Return the table of every parameter, a section for each group and law."""
    from doc import parameter_tables
    from rbdyn_ros.control import law_options, law_selection
    from rbdyn_ros.parameters import tables

    laws = {
        f"Control law {law}": law_options.table(law, law_selection.load(law))
        for law in law_selection.names()
    }
    titled = {title: table for title, table in (tables.TITLED | laws).items() if table}
    return "\n".join(
        f"## {title}\n\n{parameter_tables.table(table)}" for title, table in titled.items()
    )


def api(root: Path) -> str:
    """Return the directives that document the public names of each module of API."""
    return "\n".join(module(name, things) for name, things in interface() if things)


def interface() -> Iterator[tuple[str, dict[str, object]]]:
    """Return the names of the modules of API, each with its public names and what they are;
    what two of them have stands in the first one.
    """
    seen: set[int] = set()
    for name in API:
        module = import_module(name)
        things = {public: getattr(module, public) for public in public_names(module)}
        yield name, {public: thing for public, thing in things.items() if id(thing) not in seen}
        seen |= {id(thing) for thing in things.values()}


def public_names(module: ModuleType) -> list[str]:
    """Return the names of a module's `__all__`, else of the classes and functions made in it."""
    own = (
        name
        for name, thing in vars(module).items()
        if not name.startswith("_") and getattr(thing, "__module__", "") == module.__name__
    )
    return list(getattr(module, "__all__", own))


def module(name: str, things: dict[str, object]) -> str:
    """Return the section of a module: what it says of itself, then each of its public names."""
    lines = [f".. automodule:: {name}", "   :no-index:", ""]
    for public, thing in things.items():
        kind = "class" if isinstance(thing, type) else "function" if callable(thing) else "data"
        lines.append(f".. auto{kind}:: {name}.{public}")
        if kind == "class":
            lines.append("   :members:")
        if told := getattr(thing, "_fields", ()):  # by `fields`
            lines.append(f"   :exclude-members: {', '.join(told)}")
        lines.append("")
    body = "\n".join(lines)
    return f"## {name}\n\n```{{eval-rst}}\n{body}\n```\n"


def fields(record: type) -> list[str]:
    """Return a line for each field of a record, as a list of reStructuredText.

    What a field is stands in its parameter, where it has one, and in the comment beside it.
    """
    source = dedent(getsource(record))
    comments = {}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            text = "\n".join(source.splitlines()[node.lineno - 1 : node.end_lineno])
            comments[node.target.id] = text.partition("  # ")[2].partition("\n")[0]
    hints, lines = get_type_hints(record, include_extras=True), []
    for name in record._fields:
        declared = next(iter(getattr(hints[name], "__metadata__", ())), None)
        said = comments[name]
        if isinstance(declared, Parameter):
            said = f"{declared.description} [{declared.unit}]".removesuffix(" []")
        lines.append(f"- ``{name}``" + (f": {paragraph(said)}" if said else ""))
    return ["", *lines, ""]


MADE = {"commands": commands, "parameters": parameters, "api": api}


def docstring(text: str) -> str:
    """Return a docstring, which is plain text, as reStructuredText.

    What stands in backticks is code, an indented paragraph is kept as it is, and nothing else has
    a meaning.
    """
    paragraphs = re.split(r"\n\s*\n", text.rstrip())
    return "\n\n".join(map(paragraph, paragraphs)) + "\n"


def paragraph(text: str) -> str:
    """Return a paragraph of a docstring as reStructuredText."""
    lines = text.splitlines()
    if all(line.startswith("  ") for line in lines if line):
        return "::\n\n" + "\n".join(f"  {line}" for line in lines)
    pieces = re.split(r"(`[^`]+`)", text)
    return "".join(
        f"``{piece[1:-1]}``" if at % 2 else re.sub(r"([\\*_|`])", r"\\\1", piece)
        for at, piece in enumerate(pieces)
    )
