"""An installation without an optional library, in this process or in one that a test starts."""

import os
import sys
from pathlib import Path


class Without:
    """A finder of modules that does not find those of a library."""

    def __init__(self, finder, library: str):
        self._finder, self._library = finder, library

    def find_spec(self, name, path=None, target=None):
        """Return what the finder finds, None for the library."""
        is_hidden = name.partition(".")[0] == self._library
        return None if is_hidden else self._finder.find_spec(name, path, target)

    def __getattr__(self, name):
        return getattr(self._finder, name)


def hide(library: str, monkeypatch) -> None:
    """Let this process not find the library."""
    for name in [name for name in sys.modules if name.partition(".")[0] == library]:
        monkeypatch.delitem(sys.modules, name)
    finders = [Without(finder, library) for finder in sys.meta_path]
    monkeypatch.setattr(sys, "meta_path", finders)


def hide_from_processes(library: str, monkeypatch, folder: Path) -> None:
    """Let the processes that this one starts not find the library."""
    (folder / "sitecustomize.py").write_text(
        "import sys\n"
        f"sys.path.append({str(Path(__file__).parent)!r})\n"
        "from without import Without\n"
        f"sys.meta_path[:] = [Without(finder, {library!r}) for finder in sys.meta_path]\n"
    )
    paths = [str(folder), *filter(None, [os.environ.get("PYTHONPATH")])]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
