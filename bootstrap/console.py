"""The terminal output of a command that takes a while: its name, its last line, its time."""

import re
import shutil
import subprocess
import sys
import time

from bootstrap.trouble import Trouble

HEARTBEAT = 0.2  # [s] between two checks of the command


def run(command, log, env=None, keep_open=(), cwd=None):
    """Run a command with its output in a log file and its newest line on the terminal.

    The descriptors in keep_open are inherited, so that a command that outlives this script still
    holds its lock. Raise Trouble with the log's end when the command fails.
    """
    start, begin = time.monotonic(), log.stat().st_size if log.exists() else 0
    with log.open("ab") as sink:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=subprocess.STDOUT,
            env=env,
            cwd=cwd,
            pass_fds=keep_open,
        )
    try:
        while is_running(process):
            show(f"{time.monotonic() - start:5.0f} s  {last_line(log)}")
    finally:
        show("")
        if process.poll() is None:
            process.terminate()
            process.wait()
    if process.returncode != 0:
        raise Trouble(explain(command, process.returncode, tail(log, begin), log))


def is_running(process):
    """Wait one heartbeat; return whether the process still runs."""
    try:
        process.wait(timeout=HEARTBEAT)
    except subprocess.TimeoutExpired:
        return True
    return False


def show(line):
    """Replace the terminal's last line; write nothing where there is no terminal."""
    if sys.stderr.isatty():
        width = shutil.get_terminal_size().columns - 1
        print(f"\r\033[K{line[:width]}", end="", file=sys.stderr, flush=True)


def say(line):
    """Print a line that stays."""
    print(line, file=sys.stderr, flush=True)


def tail(log, begin=0):
    """Return the lines at the end of a log, none from before the offset begin."""
    with log.open("rb") as file:
        file.seek(max(begin, log.stat().st_size - 4000))
        return file.read().decode(errors="replace").splitlines()


def last_line(log):
    """Return the newest line of a log."""
    return next((line.strip() for line in reversed(tail(log)) if line.strip()), "")


KEPT = "and run the same command again: what is done is kept."

# What the log of a failed command contains, and what the user can do about it; the first that
# fits is printed.
KNOWN = (
    (
        r"No space left on device",
        f"the disk is full, or the folder for temporary files is (TMPDIR). Free about 2 GB {KEPT}",
    ),
    (
        r"NewConnectionError|ConnectTimeout|ProxyError|Read timed out|Network is "
        r"unreachable|Connection refused|"
        r"[Cc]ould not resolve|name resolution|Name or service not known",
        "the package index cannot be reached. Connect this machine to the network, or name a "
        "mirror (PIP_INDEX_URL, "
        f"HTTPS_PROXY), {KEPT}",
    ),
    (
        r"No matching distribution found",
        f"there is no wheel for Python {sys.version_info[0]}.{sys.version_info[1]} on this kind "
        "of machine. "
        "Run testbed with another Python, for example: python3.12 ./testbed setup",
    ),
)


def explain(command, code, lines, log):
    """Return why a command failed: a sentence for what is known, else the end of its output."""
    for sign, sentence in KNOWN:
        if any(re.search(sign, line) for line in lines):
            return f"{sentence} (All output: {log})"
    end = "\n".join(f"    {line}" for line in lines[-12:])
    named = " ".join(str(part) for part in command[:4])
    return f"`{named} ...` ended with code {code}. All of its output is in {log}; its end:\n{end}"
