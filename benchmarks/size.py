"""Count the size and the form of the sources, and print them beside the goals.

    python benchmarks/size.py [--json FILE] [--where]

Nothing is measured in time. Tokens are those of Python without comments, docstrings, line ends and
indentation. A folder counts with its own files, without those of folders in it. A function's
length is that of its code lines: no docstring, no comment, no empty line.
"""

import argparse
import ast
import io
import json
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from rbdyn_ros.parameters import tables  # noqa: E402

PRODUCT = "rbdyn_ros"
FOLDERS = (PRODUCT, "benchmarks", "bootstrap", "doc", "examples", "launch", "test")
WIDTH, LINES, CODE_LINES, KERNEL_LINES, PARAMETERS = 99, 400, 60, 80, 8
# one file a question: the goal of a folder does not bind them
LISTS_OF_QUESTIONS = ("experiments",)
NO_CODE = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENCODING,
    tokenize.ENDMARKER,
}
CONTAINERS = set(
    "Callable Iterable Iterator Mapping Sequence deque dict frozenset list set tuple".split()
)
KERNELS = {"kernel", "part", "inlined", "njit", "bound", "cached"}
# first words of docstrings that are no sentences; the linter knows others (D401)
NO_VERBS = set("All As At Every For From How In Of On One That Those What Where Whether".split())
# what a method or law calls its settings, and a solver its task
PRESCRIBED = {"Options", "Problem"}
Function = ast.FunctionDef | ast.AsyncFunctionDef
DOCUMENTED = ast.Module | ast.ClassDef | Function


class Source(NamedTuple):
    """One file of Python."""

    path: Path  # relative to the repository
    text: str


class Row(NamedTuple):
    """One line of the table."""

    what: str
    value: int
    goal: int
    where: tuple[str, ...] = ()  # the places that count, the worst ones first

    @property
    def reached(self) -> bool:
        """Return whether the goal is reached."""
        return self.value <= self.goal


def main() -> int:
    """Print the table, write the rows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the rows and places")
    parser.add_argument("--where", action="store_true", help="print the places too")
    arguments = parser.parse_args()
    rows = measure(sources())
    print(table(rows, arguments.where))
    if arguments.json:
        documents = [{**row._asdict(), "reached": row.reached} for row in rows]
        arguments.json.write_text(json.dumps(documents, indent=1) + "\n", encoding="utf-8")
    return 0


def sources(root: Path = ROOT) -> list[Source]:
    """Return every Python file of the repository's folders."""
    files = sorted(file for folder in FOLDERS for file in (root / folder).rglob("*.py"))
    texts = [file.read_text(encoding="utf-8") for file in files]
    return [Source(file.relative_to(root), text) for file, text in zip(files, texts, strict=True)]


def measure(everything: list[Source]) -> list[Row]:
    """Return the rows of the table: those of the product, then those of every file."""
    product = [source for source in everything if source.path.parts[0] == PRODUCT]
    folders = Counter("/".join(source.path.parts[1:-1]) for source in product)
    bound = {f: n for f, n in folders.items() if f and f not in LISTS_OF_QUESTIONS}
    largest = sorted(bound.items(), key=lambda item: -item[1])
    long = f"functions over {CODE_LINES} lines, kernels {KERNEL_LINES}"
    return [
        Row("tokens of rbdyn_ros", sum(tokens(source) for source in product), 210_000),
        Row("files of rbdyn_ros", len(product), 230),
        Row("files of the largest folder", largest[0][1], 20, named(largest)),
        counted(f"lines over {WIDTH} columns", [p for s in everything for p in long_lines(s)]),
        counted(f"files over {LINES} lines", long_files(everything)),
        counted(long, long_functions(product)),
        counted(f"functions over {PARAMETERS} parameters", wide_functions(product)),
        counted("untyped containers of public functions", bare_containers(product)),
        counted("parameters without a sentence that begins with a verb", plain_descriptions()),
        counted("functions whose docstring does not begin with a verb", fragments(product)),
        counted("classes that share their name", shared_names(product)),
    ]


def counted(what: str, places: list[str]) -> Row:
    """Return the row of something that should not be there at all."""
    return Row(what, len(places), 0, tuple(places))


def named(sizes: list[tuple[str, int]]) -> tuple[str, ...]:
    """Return the folders with their sizes."""
    return tuple(f"{folder} {size}" for folder, size in sizes)


def table(rows: list[Row], where: bool) -> str:
    """Return the rows as text."""
    head = f"{'':58}{'today':>9}{'goal':>9}"
    return "\n".join([head, *(line for row in rows for line in lines(row, where))])


def lines(row: Row, where: bool) -> Iterator[str]:
    """Yield the line of a row, and its places where they are asked for."""
    mark = "" if row.reached else "  over"
    yield f"{row.what:58}{row.value:>9}{row.goal:>9}{mark}"
    if where and not row.reached:
        yield from (f"    {place}" for place in row.where)


def tokens(source: Source) -> int:
    """Return the number of tokens that are code."""
    skipped = docstring_lines(source)
    return sum(
        not (token.type == tokenize.STRING and token.start[0] in skipped)
        for token in code_tokens(source)
    )


@cache
def code_tokens(source: Source) -> list[tokenize.TokenInfo]:
    """Return the tokens that are code or docstrings."""
    found = tokenize.generate_tokens(io.StringIO(source.text).readline)
    return [token for token in found if token.type not in NO_CODE]


@cache
def documented(source: Source) -> list[ast.Module | ast.ClassDef | Function]:
    """Return the module, and the classes and functions in it at any depth."""
    return [node for node in ast.walk(ast.parse(source.text)) if isinstance(node, DOCUMENTED)]


@cache
def docstring_lines(source: Source) -> set[int]:
    """Return the numbers of the lines that docstrings take."""
    found: set[int] = set()
    for node in documented(source):
        if ast.get_docstring(node, clean=False) is not None:
            found.update(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return found


def long_lines(source: Source) -> list[str]:
    """Return the places of lines that are too long."""
    numbered = enumerate(source.text.splitlines(), 1)
    return [f"{source.path}:{number}" for number, line in numbered if len(line) > WIDTH]


def long_files(everything: list[Source]) -> list[str]:
    """Return the files that are too long, the longest first."""
    sizes = sorted(((len(s.text.splitlines()), str(s.path)) for s in everything), reverse=True)
    return [f"{path} {size}" for size, path in sizes if size > LINES]


def functions(source: Source) -> list[Function]:
    """Return the functions of a file, those in classes and in functions too."""
    return [node for node in documented(source) if isinstance(node, Function)]


def long_functions(product: list[Source]) -> list[str]:
    """Return the functions with too many code lines; a kernel may have more."""
    found = []
    for source in product:
        code = code_lines(source)
        for function in functions(source):
            last = function.end_lineno or function.lineno
            size = sum(function.lineno <= line <= last for line in code)
            if size > (KERNEL_LINES if is_kernel(function) else CODE_LINES):
                found.append((size, f"{source.path}:{function.lineno} {function.name} {size}"))
    return [place for _, place in sorted(found, reverse=True)]


def code_lines(source: Source) -> set[int]:
    """Return the numbers of the lines that hold code."""
    skipped = docstring_lines(source)
    return {
        line
        for token in code_tokens(source)
        for line in range(token.start[0], token.end[0] + 1)
        if line not in skipped
    }


def is_kernel(function: Function) -> bool:
    """Return whether a decorator compiles the function."""
    words = {
        name
        for decorator in function.decorator_list
        for node in ast.walk(decorator)
        for name in (getattr(node, "id", None), getattr(node, "attr", None))
    }
    return bool(words & KERNELS)


def wide_functions(product: list[Source]) -> list[str]:
    """Return the functions with too many parameters."""
    found = []
    for source in product:
        for function in functions(source):
            count = len(parameters(function))
            if count > PARAMETERS:
                found.append((count, f"{source.path}:{function.lineno} {function.name} {count}"))
    return [place for _, place in sorted(found, reverse=True)]


def parameters(function: Function) -> list[ast.arg]:
    """Return the parameters of a function without self and cls."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    return [argument for argument in every if argument.arg not in ("self", "cls")]


def bare_containers(product: list[Source]) -> list[str]:
    """Return the public functions whose types name a container without its contents."""
    found = []
    for source in product:
        for function in functions(source):
            if function.name.startswith("_"):
                continue
            types = [argument.annotation for argument in parameters(function)]
            for annotation in (*types, function.returns):
                place = f"{source.path}:{function.lineno} {function.name}"
                found += [f"{place} {name}" for name in bare_names(annotation)]
    return found


def bare_names(annotation: ast.expr | None) -> list[str]:
    """Return the containers of a type that do not tell their contents."""
    if annotation is None:
        return []
    with_contents = {
        id(node.value) for node in ast.walk(annotation) if isinstance(node, ast.Subscript)
    }
    return [
        node.id
        for node in ast.walk(annotation)
        if isinstance(node, ast.Name) and node.id in CONTAINERS and id(node) not in with_contents
    ]


def plain_descriptions() -> list[str]:
    """Return the names of the ROS parameters that are not described by a sentence."""
    every = tables.all_parameters().values()
    return [parameter.name for parameter in every if not is_sentence(parameter.description)]


def is_sentence(description: str) -> bool:
    """Return whether a description begins with a verb ("Sets the mass.") and has a full stop."""
    first = description.partition(" ")[0]
    return first[:1].isupper() and first.endswith("s") and description.endswith(".")


def fragments(product: list[Source]) -> list[str]:
    """Return the functions, not the properties, whose docstring begins with no verb."""
    return [
        f"{source.path}:{function.lineno} {function.name}"
        for source in product
        for function in functions(source)
        if (text := ast.get_docstring(function)) and not (is_property(function) or has_verb(text))
    ]


def has_verb(docstring: str) -> bool:
    """Return whether the first word of a docstring may be a verb in the imperative."""
    first = docstring.split()[0].rstrip(",;:.")
    return bool(re.fullmatch("[A-Z][a-z]+", first)) and first not in NO_VERBS


def is_property(function: Function) -> bool:
    """Return whether a decorator makes an attribute of the function."""
    return any("property" in ast.unparse(decorator) for decorator in function.decorator_list)


def shared_names(product: list[Source]) -> list[str]:
    """Return the names that several public classes have, and in which files."""
    found: dict[str, list[str]] = {}
    for source in product:
        for node in documented(source)[0].body:
            if isinstance(node, ast.ClassDef) and node.name not in PRESCRIBED:
                found.setdefault(node.name, []).append(str(source.path))
    return [
        f"{name} {' '.join(paths)}"
        for name, paths in found.items()
        if len(paths) > 1 and not name.startswith("_")
    ]


if __name__ == "__main__":
    sys.exit(main())
