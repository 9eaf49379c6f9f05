"""Each equation that is cited exists once, and GitHub and Sphinx can typeset it."""

import re
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = {path.name: path.read_text("utf-8") for path in sorted((ROOT / "doc").glob("*.md"))}
SOURCES = sorted(
    path
    for f in ("rbdyn_ros", "test", "examples", "benchmarks")
    for path in (ROOT / f).rglob("*.py")
)
FOLDERS = ("", "doc", "benchmarks", "test/verification")
MARKDOWN = [path for folder in FOLDERS for path in (ROOT / folder).glob("*.md")]
CODE = re.compile(r"^```.*?^```|(?<=\n\n) {4}.*?(?=\n\n|\Z)|`[^`]+`", re.M | re.S)
BLOCK = re.compile(r"^\$\$\n(.*?)\n\$\$$", re.M | re.S)
INLINE = re.compile(r"\$([^$]*)\$")
TAG = re.compile(r"\\tag\{([^}]+)\}")
# (M.5), (K.17a to K.17c), nonsmooth.md, C.9; in mathematics.md and what cites it also (2.7)
LETTERED, SECTION = r"[A-Z]\.\d+[a-z]?", r"[1-8]\.\d{1,2}"
CITED = re.compile(rf"(?<![\w.])({LETTERED})(?![\w.]\w)")
CITED_SECTION = re.compile(rf"(?<=\s)\(({SECTION})\)|mathematics\.md, ({SECTION})")
SHOWN = re.compile(rf"\S {{2,}}\(({LETTERED})\)\.?$", re.M)  # right of a formula in a docstring
NOT_OURS = {"sources.md"}  # cites the numbers of the sources, (8.4) of Siconos
# what both MathJax and KaTeX have; a misspelled command is not among them
COMMANDS = set(
    "Bigl Bigr Delta Gamma Lambda Leftrightarrow Omega Phi Pi Sigma alpha arccos arg ast"
    " bar begin beta bmod boxminus boxplus cdot chi circ cos cot cr ddot delta det dot dots ell"
    " end enspace eta exp frac gamma ge gt hat in int iota kappa lambda langle lbrace le"
    " lfloor log lt lvert mathbb mathbf mathcal mathrm max mid min mu nabla ne ni nu omega oplus"
    " parallel partial perp phi pi pm prod psi qquad quad rangle rbrace rfloor rho rvert sigma sim"
    " sin sqrt sum tag tan tanh tau text tfrac theta thinspace tilde times to top varepsilon"
    " varphi varrho vartheta widehat xi zeta".split()
)
ENVIRONMENTS = {"aligned", "cases", "pmatrix"}


def without_code(text: str) -> str:
    """Return a page without code, and without variables of the environment, such as $HOME."""
    return re.sub(r"\$[A-Z]{2}\w+", "", CODE.sub("", text))


def formulas(text: str) -> list[str]:
    """Return the formulas of a page, displayed and inline."""
    text = without_code(text)
    return BLOCK.findall(text) + INLINE.findall(BLOCK.sub("", text))


def faults(formula: str) -> list[str]:
    """Return what MathJax, KaTeX or GitHub's Markdown (which comes first) would refuse."""
    found = [
        f"\\{c} is unknown" for c in re.findall(r"\\([A-Za-z]+)", formula) if c not in COMMANDS
    ]
    depth = 0
    for brace in re.findall(r"[{}]", formula):
        depth += 1 if brace == "{" else -1
        if depth < 0:
            break
    if depth:
        found.append("the braces are not in pairs")
    open_ones = []
    for word, name in re.findall(r"\\(begin|end)\{(\w+)\}", formula):
        if name not in ENVIRONMENTS:
            found.append(f"the environment {name} is unknown")
        if word == "begin":
            open_ones.append(name)
        elif not open_ones or open_ones.pop() != name:
            found.append(f"\\end{{{name}}} ends nothing")
    if open_ones:
        found.append(f"{open_ones} are not ended")
    rules = {
        r"\\[^A-Za-z]": "Markdown removes a backslash before a sign: \\cr, \\lbrace, \\thinspace",
        r"[^\sA-Za-z0-9]_(?=\S)": "Markdown may take this _ for emphasis: spaces on both sides",
        r"\*": "Markdown may take * for emphasis: \\ast",
        r"~": "Markdown may take ~ for deletion",
        r"\S[<>]|[<>]\S": "Markdown may take < or > for HTML: \\lt, \\gt",
        r"\]\(": "Markdown takes ]( for a link: a space in between",
        r"\n\s*\n": "a blank line ends a formula",
        r"\n\s*([-+>#]|\d+\.)\s": "Markdown takes the line for an item of a list",
        r"[^\x00-\x7f]": "a sign that is not ASCII",
        r"_\s*(\w|\\[A-Za-z]+|\{[^{}]*\})\s*_": "two indices",
    }
    return found + [what for rule, what in rules.items() if re.search(rule, formula)]


def test_the_number_of_an_equation_is_its_own():
    tags = Counter(number for text in PAGES.values() for number in TAG.findall(text))
    assert tags and not [number for number, count in tags.items() if count > 1]


def test_an_equation_that_is_cited_exists_once():
    tags = {number for text in PAGES.values() for number in TAG.findall(text)}
    cited, shown = {}, {}
    for path in (*SOURCES, *MARKDOWN):
        name, text = path.relative_to(ROOT).as_posix(), path.read_text("utf-8")
        for number in SHOWN.findall(text) if path.suffix == ".py" else ():
            shown.setdefault(number, set()).add(name)
        numbers = CITED.findall(text)
        if name.startswith(("rbdyn_ros/", "doc/")) and path.name not in NOT_OURS:
            numbers += ["".join(pair) for pair in CITED_SECTION.findall(text)]
        for number in numbers:
            cited.setdefault(number, set()).add(name)
    letters = {number[0] for number in tags}
    assert len(tags) > 200
    assert len(cited.keys() & tags) > 150
    unknown = {n: where for n, where in cited.items() if n[0] in letters and n not in tags}
    # what an experiment or an oracle derives has its formula there
    assert not {n: where for n, where in unknown.items() if len(shown.get(n, ())) != 1}


@pytest.mark.parametrize("page", PAGES)
def test_the_formulas_of_a_page_are_well_formed(page):
    text = without_code(PAGES[page])
    lines = text.split("\n")
    for k, line in enumerate(lines):
        if line == "$$":
            assert not (lines[k - 1] and lines[k + 1]), (
                f"no blank line beside {lines[k - 1 : k + 2]}"
            )
    text = BLOCK.sub("", text)
    for match in INLINE.finditer(text):
        before, after = text[match.start() - 1], text[match.end() : match.end() + 1]
        assert re.fullmatch(r"[\s(]", before), f"{before} before {match[0]}"
        assert re.fullmatch(r"[\s,.;:)]?", after), f"{after} after {match[0]}"
    assert "$" not in INLINE.sub("", text), "a dollar is alone"
    wrong = {formula: faults(formula) for formula in formulas(PAGES[page])}
    assert not {formula: what for formula, what in wrong.items() if what}


@pytest.mark.parametrize(
    "formula",
    [
        r"\alhpa",
        r"\frac{a}{b",
        r"a}",
        r"\begin{aligned} a",
        r"\begin{cases} a \end{pmatrix}",
        r"\lbrace a \}",
        r"a \\ b",
        r"\dot{x}_k",
        r"T^*",
        "a <b",
        "[a](b)",
        "a\n- b",
        "µ",
        "x_a_b",
    ],
)
def test_a_formula_that_is_not_well_formed_is_found(formula):
    assert faults(formula)
