"""The installation of wheels into the environment by uv, else by pip, without questions and with
all output in the log.
"""

import os
import subprocess

from bootstrap.console import run, say
from bootstrap.place import environment
from bootstrap.steps import STATE
from bootstrap.trouble import Trouble

QUIET = ("--no-input", "--progress-bar", "off", "--disable-pip-version-check")

# pip's settings that say where wheels come from, by the variables of uv, which does not read them.
SETTINGS = {
    "index-url": "UV_DEFAULT_INDEX",
    "extra-index-url": "UV_INDEX",
    "find-links": "UV_FIND_LINKS",
    "trusted-host": "UV_INSECURE_HOST",
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
}


def uninstall(place, log, keep_open, name):
    """Run pip uninstall; a package that is not there is no error."""
    command = [
        place.python,
        "-m",
        "pip",
        "uninstall",
        "--yes",
        "--no-input",
        "--disable-pip-version-check",
        name,
    ]
    run(command, place.prefix / STATE / log, environment(place), keep_open)


def install(place, log, keep_open, *arguments):
    """Run pip install with the arguments; its output goes to the named log."""
    command = [place.python, "-m", "pip", "install", *QUIET, *arguments]
    run(command, place.prefix / STATE / log, environment(place), keep_open)


def install_pinned(place, log, keep_open, uv, requirements):
    """Install exactly the requirements, over whatever an interrupted run left: by uv, which takes
    seconds, else by pip.

    pip would write the pinned setuptools over the one that venv brings and leave the files that
    only the old one has, with which `colcon build` fails: so the old one is removed before.
    """
    wanted = (place.prefix / STATE / log).with_suffix(".txt")
    again = (
        ("--reinstall",) if wanted.exists() else ()
    )  # it asks the index for each wheel anew: only after an interruption
    wanted.write_text("\n".join(requirements) + "\n")
    try:
        install(place, log, keep_open, "--no-deps", *uv)
        install_by_uv(place, log, keep_open, wanted, *again)
    except Trouble as trouble:
        say(
            f"uv could not install the wheels; pip does it, which takes a minute or two. {trouble}"
        )
        if any(line.startswith("setuptools==") for line in requirements):
            uninstall(place, log, keep_open, "setuptools")
        install(
            place,
            log,
            keep_open,
            "--no-deps",
            "--ignore-installed",
            "--use-pep517",
            "--requirement",
            wanted,
        )


def install_by_uv(place, log, keep_open, wanted, *options):
    """Run uv with the package indices that pip is set to."""
    env = environment(place)
    listed = subprocess.run(
        [place.python, "-m", "pip", "config", "list"], env=env, capture_output=True, text=True
    ).stdout
    command = [
        place.prefix / "bin" / "uv",
        "pip",
        "install",
        "--no-progress",
        "--no-deps",
        *options,
        "--python",
        place.python,
        "--requirement",
        wanted,
    ]
    run(command, place.prefix / STATE / log, settings_of_uv(listed, env), keep_open)


def settings_of_uv(listed, environ=os.environ):
    """Return the variables for uv, from what `pip config list` prints: lines as
    `global.index-url='https://...'`.

    A setting of the environment outranks one of a file, as for pip; a variable of uv's own
    outranks both. The version that is pinned is taken from whichever index has it, as pip does.
    """
    found = {}
    for line in sorted(listed.splitlines(), key=lambda line: line.startswith(":env:")):
        scope_and_name, _, value = line.partition("=")
        name = scope_and_name.rpartition(".")[2]
        if name in SETTINGS:
            separator = "," if name == "find-links" else " "
            found[SETTINGS[name]] = separator.join(value.strip("'\"").replace("\\n", " ").split())
    return {"UV_INDEX_STRATEGY": "unsafe-best-match", **found, **environ}
