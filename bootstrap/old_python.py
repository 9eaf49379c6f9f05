"""The sentence for an interpreter that is too old, written in the syntax of any Python."""

import glob
import os
import re
import subprocess
import sys

OLDEST = (3, 10)


def newer_on_path():
    """Return the names of the interpreters on PATH that are new enough and start, the newest
    first.
    """
    found = {}
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        for path in glob.glob(os.path.join(folder, "python3.*")):
            match = re.match(r"python3\.(\d+)$", os.path.basename(path))
            if match and (3, int(match.group(1))) >= OLDEST and can_start(path):
                found[int(match.group(1))] = os.path.basename(path)
    return [found[minor] for minor in sorted(found, reverse=True)]


def can_start(path):
    """Return whether the interpreter runs: version managers put names on PATH that do not."""
    with open(os.devnull, "w") as nowhere:
        try:
            return subprocess.call([path, "-c", ""], stdout=nowhere, stderr=nowhere) == 0
        except OSError:
            return False


def complaint():
    """Return what is wrong with this interpreter and what to do."""
    this = "testbed needs Python %d.%d or newer; this is %d.%d (%s)." % (
        OLDEST + sys.version_info[:2] + (sys.executable,)
    )
    newer = newer_on_path()
    if newer:
        return "%s Run it with one of your newer ones: %s ./testbed %s" % (
            this,
            newer[0],
            " ".join(sys.argv[1:]),
        )
    return (
        "%s No newer one is on PATH: install one, for example by: apt-get install python3" % this
    )
