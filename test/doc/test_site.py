"""The documentation site: its links, what it takes from the code, and the site itself."""

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

import pytest
from view_browser import LIMIT

from doc import build_site, site_pages
from rbdyn_ros import __main__ as program
from rbdyn_ros.parameters import tables
from rbdyn_ros.types import State

ROOT = Path(__file__).parents[2]
LIBRARIES = ("sphinx", "myst_parser", "furo")


@pytest.mark.parametrize(
    "page, link, on_the_site",
    [
        ("doc/a.md", "[loop](control.md#2-near-upright)", "[loop](control.md#2-near-upright)"),
        ("doc/a.md", "[control.md](control.md)", "[](control.md)"),
        ("doc/a.md", "[law](../examples/lean.py)", "[law](outside/examples/lean.py.md)"),
        ("doc/a.md", "[C](../examples/firmware)", "[C](outside/examples/firmware/README.md)"),
        ("doc/a.md", "[all](../examples)", "all"),
        ("doc/a.md", "![curve](images/demo.png)", "![curve](images/demo.png)"),
        (
            "doc/tutorials/a.md",
            "[law](../../examples/lean.py)",
            "[law](../outside/examples/lean.py.md)",
        ),
        ("doc/tutorials/a.md", "[all](../b.md)", "[all](../b.md)"),
        ("CONTRIBUTING.md", "[frames](doc/conventions.md)", "[frames](../conventions.md)"),
        ("benchmarks/README.md", "![x](../doc/images/demo.png)", "![x](../../images/demo.png)"),
        ("doc/a.md", "a[0](x) [b](https://c.org/a.md)", "a[0](x) [b](https://c.org/a.md)"),
    ],
)
def test_links_lead_to_places_of_the_site(page, link, on_the_site):
    assert site_pages.rewrite(f"see {link}.", PurePosixPath(page), ROOT) == f"see {on_the_site}."


def test_every_page_is_in_the_contents():
    index = (ROOT / "doc" / "index.md").read_text(encoding="utf-8")
    listed = [found["target"] for found in site_pages.LINK.finditer(index) if not found["image"]]
    assert len(set(listed)) == len(listed)
    pages = {str(path.relative_to(ROOT / "doc")) for path in site_pages.pages(ROOT)}
    assert pages - {"index.md"} == {target for target in listed if not target.startswith("../")}
    made = site_pages.contents("# A\n\n## B\n\n- [C](c.md): d\n")
    assert ":caption: B\n\nC <c.md>\n```" in made


def test_docstrings_are_plain_text():
    text = "Return |q| of `state.q` and *args_.\n\n    E = m v^2 * 2\n\nRaise ValueError."
    said = site_pages.docstring(text)
    assert r"\|q\| of ``state.q`` and \*args\_." in said
    assert "::\n\n      E = m v^2 * 2\n" in said


def test_fields_of_a_record_are_told_from_the_comments_beside_them():
    t, q, _ = filter(None, site_pages.fields(State))
    assert t == "- ``t``: [s]" and q.startswith(r"- ``q``: (6,) x y [m, world] \| w x y z")


def test_a_link_that_leads_nowhere_is_named(tmp_path):
    (tmp_path / "a.html").write_text('<h1 id="top"></h1><a href="b.html#no">b</a>')
    (tmp_path / "b.html").write_text(
        '<a href="a.html#top"></a><img src="gone.png"><a href="https://example.org/x"></a>'
    )
    assert list(build_site.dead_links(tmp_path)) == [
        "a.html: b.html#no has no such heading",
        "b.html: gone.png is not there",
    ]


def test_a_folder_that_is_no_site_is_left_alone(tmp_path):
    (tmp_path / "mine").touch()
    command = [sys.executable, ROOT / "doc" / "build_site.py", "--out", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and "is there and is no site" in done.stderr
    assert (tmp_path / "mine").exists()


def test_a_page_that_cannot_be_built_is_left_out(tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not build_site.play(tmp_path / "extra")
    assert "the page doc/play is not built: it needs clang" in capfd.readouterr().err


def test_without_npm_the_equations_need_a_network(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("PATH", str(tmp_path))
    assert not build_site.mathjax(tmp_path / "static") and not (tmp_path / "static").exists()
    assert "equations need a network: npm brings no MathJax" in capsys.readouterr().err


def demand_sphinx():
    for name in LIBRARIES:
        pytest.importorskip(name, reason=f"{name} is not installed (./testbed test brings it)")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The folder of the site, built with warnings as errors and every link checked."""
    demand_sphinx()
    out = tmp_path_factory.mktemp("docs") / "site"
    command = [sys.executable, ROOT / "doc" / "build_site.py", "--no-play", "--out", out]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1] == str(out / "html" / "index.html")
    return out / "html"


def read(site, name):
    return (site / f"{name}.html").read_text(encoding="utf-8")


def test_the_site_has_every_page(site):
    names = {path.stem for path in site_pages.pages(ROOT)}
    assert names <= {path.stem for path in site.rglob("*.html")}
    for outside in ("CHANGELOG", "test/verification/ledger", "examples/lean.py"):
        assert (site / "outside" / f"{outside}.html").is_file()


def test_every_equation_of_a_page_is_on_the_site(site):
    for path in (ROOT / "doc").glob("*.md"):
        count = len(re.findall(r"^\$\$$", path.read_text(encoding="utf-8"), re.MULTILINE)) // 2
        assert read(site, path.stem).count(r"\[") >= count, path.name


def test_equations_are_typeset_without_a_network(browser, site):
    if not (site / "_static" / "mathjax").is_dir():
        pytest.skip("the site has no MathJax: npm or its registry is missing")
    with browser.new_context(offline=True) as offline:
        tab, errors = offline.new_page(), []
        tab.set_default_timeout(1e3 * LIMIT)
        tab.on("pageerror", lambda error: errors.append(str(error)))
        tab.on("requestfailed", lambda request: errors.append(request.url))
        for name in ("control", "nonsmooth"):
            tab.goto((site / f"{name}.html").as_uri())
            tab.wait_for_function("window.MathJax?.startup?.promise")
            tab.evaluate("MathJax.startup.promise")
            asked, made, refused = tab.evaluate(
                "['.math', 'mjx-container', 'mjx-merror, [data-mjx-error]']"
                ".map(kind => document.querySelectorAll(`article :is(${kind})`).length)"
            )
            assert (made, refused) == (asked, 0) and made > 100
        assert errors == []


def test_an_equation_of_two_lines_keeps_its_number(tmp_path):
    r"""MathJax refuses `\tag` within `split`, into which Sphinx puts what has several lines."""
    demand_sphinx()
    (tmp_path / "index.md").write_text("# One\n\nSo $x$ is\n\n$$\na \\\\ b\n\\tag{1.1}\n$$\n")
    folders = ("--conf-dir", ROOT / "doc", tmp_path, tmp_path / "html")
    command = [sys.executable, "-m", "sphinx", "--quiet", *folders]
    subprocess.run(command, capture_output=True, check=True)
    page = (tmp_path / "html" / "index.html").read_text(encoding="utf-8")
    assert "\\[a \\\\ b\n\\tag{1.1}\\]" in page and r"\begin{split}" not in page
    assert r"\(x\)" in page and "tex-mml-chtml.js" in page


def test_the_reference_is_that_of_the_code(site):
    commands, parameters = read(site, "command_line"), read(site, "parameters")
    assert not [
        name for name in program.command_names() if f"rbdyn_ros {name} [-h]" not in commands
    ]
    assert not [name for name in tables.all_parameters() if f">{name}<" not in parameters]
    interface = read(site, "api")
    for module, things in site_pages.interface():
        assert not [name for name in things if f'id="{module}.{name}"' not in interface]


def test_the_sentences_of_troubleshooting_are_those_of_the_code():
    """A `…` stands for what differs; strings over several lines are put together."""
    sources = [*(ROOT / "rbdyn_ros").rglob("*.py"), *(ROOT / "bootstrap").glob("*.py")]
    joined = [re.sub(r'"\s*\n\s*f?"', "", path.read_text(encoding="utf-8")) for path in sources]
    joined = [re.sub(r"{[^{}]*}|%d|%s", "…", text) for text in joined]
    page = (ROOT / "doc" / "troubleshooting.md").read_text(encoding="utf-8")
    sentences = re.findall(r"^\| `(.+?)` \|", page, re.MULTILINE)
    assert len(sentences) > 20
    for sentence in sentences:
        pieces = [piece.strip(" ,:;") for piece in sentence.split("…") if piece.strip(" ,:;.")]
        assert any(all(piece in text for piece in pieces) for text in joined), sentence
