"""Settings of the documentation site, for Sphinx.

`./testbed docs` and rosdoc2 copy doc/ and build the copy, so what is made for the site stays out
of the sources; `site_pages` makes it.
"""

import re
import sys
from importlib.util import find_spec
from pathlib import Path, PurePosixPath
from xml.etree import ElementTree


def find_root() -> Path:
    """Return the folder of the sources; the settings of rosdoc2 run this file by its name."""
    here = Path(__file__).resolve()
    named = re.search(r'exec\(open\("(.+?)"\)', here.read_text(encoding="utf-8"))
    return (Path(named[1]) if named else here).parents[1]


ROOT = find_root()
sys.path.insert(0, str(ROOT))

from doc import site_pages  # noqa: E402

project = "rbdyn_ros"
author = "rbdyn_ros maintainers"
release = version = ElementTree.parse(ROOT / "package.xml").findtext("version")
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.mathjax"]
root_doc = "index"
include_patterns = ["*.md", "tutorials/*.md", f"{site_pages.OUTSIDE}/**"]
exclude_patterns = ["index.rst"]  # that of rosdoc2
html_theme = "furo"
html_static_path = html_css_files = ["site.css"]
html_title = f"{project} {release}"
html_show_copyright = html_show_sphinx = html_copy_source = False
myst_enable_extensions = ["amsmath", "dollarmath"]
myst_heading_anchors = 4  # as in the repository
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
# rosdoc2 brings a theme of its own, and not Furo
rosdoc2_settings = {"override_theme": find_spec("furo") is None}


def write_outside(app):
    """Write the pages of what is not in doc/ into the copy that is built."""
    if Path(app.srcdir).resolve() == ROOT / "doc":
        raise RuntimeError("a copy of doc/ is built, not doc/ itself: use ./testbed docs")
    for place, text in site_pages.outside(ROOT).items():
        path = Path(app.srcdir) / place
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def complete(app, name, content):
    """Change the links of a page of doc/ to places of the site, and fill it in."""
    if not name.startswith(site_pages.OUTSIDE):
        text = site_pages.rewrite(content[0], PurePosixPath("doc") / f"{name}.md", ROOT)
        if name == root_doc:
            text = site_pages.contents(text)
            link = site_pages.PLAY if app.config.html_extra_path else ""
            text = text.replace("<!-- site: play -->", link)
        content[0] = site_pages.fill(text, ROOT)


def delimit(app, doctree):
    r"""Put equations between delimiters here: Sphinx would put one with `\\` into `split`, in
    which MathJax refuses `\tag`.
    """
    from docutils import nodes

    for equation in doctree.findall(nodes.math_block):
        if not (equation.get("nowrap") or equation.get("no-wrap")):
            text = rf"\[{equation.astext()}\]"
            equation.clear()
            equation += nodes.Text(text)
            equation["nowrap"] = equation["no-wrap"] = True


def as_text(app, what, name, thing, options, lines):
    """Make a docstring, which is plain text, into reStructuredText."""
    lines[:] = site_pages.docstring("\n".join(lines)).splitlines()
    if what == "class" and hasattr(thing, "_fields"):
        lines += site_pages.fields(thing)


def short(app, what, name, thing, options, signature, returned):
    """Name the fields of a record; what they are stands below."""
    if what == "class" and hasattr(thing, "_fields"):
        return f"({', '.join(thing._fields)})", returned


def setup(app):
    """Connect what is made while the site is built."""
    app.connect("builder-inited", write_outside)
    app.connect("source-read", complete)
    app.connect("doctree-read", delimit)
    app.connect("autodoc-process-docstring", as_text)
    app.connect("autodoc-process-signature", short)
