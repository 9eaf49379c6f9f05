"""The requirements on the machine itself, without which no environment can be made on it."""

import importlib.util
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import NamedTuple

from bootstrap.console import say
from bootstrap.trouble import Trouble

# What some tests need besides, by the packages that have it: without it they are skipped.
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TOOLS = (
    ("a browser for the live view", BROWSERS, ("chromium",)),
    ("an emulator of Arm boards", ("qemu-system-arm",), ("qemu-system-arm",)),
    (
        "a compiler for Arm boards",
        ("arm-none-eabi-gcc",),
        ("gcc-arm-none-eabi", "libnewlib-arm-none-eabi"),
    ),
    (
        "a compiler to WebAssembly",
        ("wasm-ld",),
        ("clang", "lld", "wasi-libc", "libclang-rt-dev-wasm32"),
    ),
    ("npm for the site", ("npm",), ("npm",)),
)
INSTALL = "apt-get", "install", "-y", "--no-install-recommends"

SYSTEM_FOLDERS = "/usr/local/sbin:/usr/sbin:/sbin"  # where dpkg looks for what it runs


class Need(NamedTuple):
    """One thing that the machine must have."""

    what: str
    there: bool
    package: str  # of Debian and Ubuntu


def needs(sourced):
    """Return what an environment needs of the machine; a compiler and headers only where tf2_msgs
    must be built.
    """
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    venv = [
        Need(
            "the venv module of Python",
            importlib.util.find_spec("ensurepip") is not None,
            f"{version}-venv",
        )
    ]
    if sourced:
        return venv
    headers = Path(sysconfig.get_path("include"), "Python.h")
    return [
        *venv,
        Need("the C headers of Python", headers.exists(), f"{version}-dev"),
        Need("a C compiler", any(map(shutil.which, ("cc", "gcc", "clang"))), "gcc"),
        Need("a C++ compiler", any(map(shutil.which, ("c++", "g++", "clang++"))), "g++"),
    ]


def ensure(sourced):
    """Install what is missing if we are root; raise Trouble with the command that does if we are
    not.
    """
    missing = [need for need in needs(sourced) if not need.there]
    if not missing:
        return
    named = ", ".join(need.what for need in missing)
    install = [*INSTALL, *(need.package for need in missing)]
    if os.geteuid() != 0 or not shutil.which("apt-get"):
        raise Trouble(
            f"this machine lacks {named}. Install it, then run the same command again:\n"
            f"    sudo {' '.join(install)}"
        )
    say(f"This machine lacks {named}: installing {', '.join(install[4:])}.")
    apt(["apt-get", "update"])
    apt(install)
    importlib.invalidate_caches()
    if still := [need for need in needs(sourced) if not need.there]:
        raise Trouble(
            f"{' '.join(install)} ended well, yet {sys.executable} still lacks "
            f"{', '.join(need.what for need in still)}: run ./testbed with the system's own "
            "/usr/bin/python3."
        )


def offer_tools():
    """Install what only some tests need if we are root; else, or where that fails, say what to
    install. The tests run without it.
    """
    missing = [
        (what, packages) for what, names, packages in TOOLS if not any(map(shutil.which, names))
    ]
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        say(f"This machine lacks {listed(missing)}: installing them takes some minutes.")
        missing = install_tools(missing)
    if missing:
        packages = [package for _, packages in missing for package in packages]
        say(
            f"This machine lacks {listed(missing)}: the tests that need it are skipped. To run "
            f"them, install it:\n    sudo {' '.join((*INSTALL, *packages))}"
        )


def listed(missing):
    """Return what is missing in words."""
    return ", ".join(what for what, _ in missing)


def install_tools(missing):
    """Install the packages of one tool after the other; say which fail, and return their tools."""
    try:
        apt(["apt-get", "update"])
    except Trouble as trouble:
        say(str(trouble))
        return missing
    left = []
    for what, packages in missing:
        try:
            apt([*INSTALL, *packages])
        except Trouble as trouble:
            say(str(trouble))
            left.append((what, packages))
    return left


def apt(command):
    """Run apt-get without questions."""
    env = dict(
        os.environ,
        DEBIAN_FRONTEND="noninteractive",
        PATH=f"{os.environ.get('PATH', os.defpath)}:{SYSTEM_FOLDERS}",
    )
    done = subprocess.run(
        command,
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode != 0:
        raise Trouble(
            f"{done.stdout[-2000:]}\n`{' '.join(command)}` failed: mend that, then run the same "
            "command again."
        )
