"""A board that QEMU emulates, with the firmware of examples/firmware and its UART on a
pseudo-terminal.

QEMU's machine protocol (QMP) starts the board, and can stop and reset it and read its memory.
Nothing of it is installed with the package: QEMU, Arm's compiler and a checkout of the repository
are searched for when they are needed.
"""

import json
import os
import secrets
import shutil
import socket
import subprocess
import time
import tty
from pathlib import Path
from typing import Any

FIRMWARE = Path(__file__).parents[2] / "examples" / "firmware"
MACHINES = {"m4f": "mps2-an386", "m7": "mps2-an500"}  # core -> QEMU's board with it
EMULATOR, COMPILER = "qemu-system-arm", "arm-none-eabi-gcc"
PACKAGES = "qemu-system-arm gcc-arm-none-eabi libnewlib-arm-none-eabi make"
POWER_ON = 0x21000000  # where a board of mps2.c expects a random number
CONNECT_PERIOD = 1.1  # [s] QEMU checks each second whether its pseudo-terminal is open
START_TIMEOUT = 30.0  # [s] of a loaded machine, for QEMU to start


class CannotEmulate(RuntimeError):
    """No board can be emulated; the message says why, and what to install."""


def missing_tools() -> str:
    """Return why no board can be emulated here, and what to do about it; empty if one can."""
    tools = (EMULATOR, COMPILER, "make")
    absent = [tool for tool in tools if not shutil.which(tool)]
    if absent:
        return (
            f"an emulated board needs {' and '.join(absent)}: "
            f"sudo apt-get install --no-install-recommends {PACKAGES}"
        )
    if not (FIRMWARE / "Makefile").exists():
        return f"an emulated board needs {FIRMWARE}, which only a checkout of the repository has"
    return ""


def build(folder: Path, core: str = "m4f", role: str = "controller", **variables: object) -> Path:
    """Build the firmware for a core into `folder` and return the image. Raise CannotEmulate if
    that fails.

    `variables` are passed to the Makefile unchanged.
    """
    if sentence := missing_tools():
        raise CannotEmulate(sentence)
    words = [f"{name}={value}" for name, value in variables.items()]
    command = ["make", "-s", "-C", str(FIRMWARE), f"CPU={core}", f"ROLE={role}", f"BUILD={folder}"]
    done = subprocess.run(
        [*command, *words], capture_output=True, encoding="utf-8", errors="replace"
    )
    if done.returncode:
        reason = (done.stderr.strip() or done.stdout.strip()).splitlines()
        raise CannotEmulate(f"the firmware cannot be built: {reason[0] if reason else 'make'}")
    return folder / f"{variables.get('NAME', role)}.elf"


# ends a process when its own input ends, as it does with the process that holds the other end
_GUARD = ("sh", "-c", 'read -r _; kill -KILL "$1"', "sh")


class EmulatedBoard:
    """A context manager: the board runs within it, and `port` is its serial port."""

    def __init__(self, image: Path, folder: Path, core: str = "m4f"):
        """Prepare to emulate the board of `core` with `image`; its files go into the existing
        `folder`.
        """
        self.port = folder / "board"  # a link to the pseudo-terminal, new in each power cycle
        self._command = [
            *(EMULATOR, "-M", MACHINES[core], "-kernel", str(image), "-display", "none"),
            *("-serial", "pty", "-monitor", "none", "-S"),
        ]
        self._log, self._kept = folder / "qemu.log", -1
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None  # kills QEMU if this process is killed
        self._qmp: socket.socket | None = None
        self._begun = b""  # the received part of QEMU's next message

    def __enter__(self) -> "EmulatedBoard":
        self.switch_on()
        return self

    def __exit__(self, *_) -> None:
        self.switch_off()

    def switch_on(self) -> None:
        """Start the board from its reset. Raise CannotEmulate if QEMU does not answer or ends.

        The processor starts only when QEMU reads its pseudo-terminal: what is sent earlier waits
        there and would be outdated.
        """
        ours, its = socket.socketpair()
        with its, open(self._log, "wb") as log:
            qmp = ("-chardev", f"socket,fd={its.fileno()},id=qmp", "-mon", "qmp,mode=control")
            # from which mps2.c derives its nonce
            number = f"addr={POWER_ON:#x},data={secrets.randbits(64):#x},data-len=8"
            self._process = subprocess.Popen(
                [*self._command, *qmp, "-device", f"loader,{number}"],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                pass_fds=(its.fileno(),),
                start_new_session=True,  # Ctrl-C is ours to handle
            )
        self._guard = subprocess.Popen(
            [*_GUARD, str(self._process.pid)], stdin=subprocess.PIPE, start_new_session=True
        )
        ours.settimeout(START_TIMEOUT)
        self._qmp, self._begun = ours, b""
        self._message()  # the greeting
        self.ask("qmp_capabilities")
        uart = next(each for each in self.ask("query-chardev") if each["label"] == "serial0")
        self._keep(uart["filename"].removeprefix("pty:"))
        time.sleep(CONNECT_PERIOD)
        self.ask("cont")

    def switch_off(self) -> None:
        """Cut the board's power: its output ends at once, in the middle of a byte."""
        if self._guard:
            self._guard.kill()
            self._guard.communicate()
        if self._process:
            self._process.kill()
            self._process.wait()
        if self._qmp:
            self._qmp.close()
        if self._kept >= 0:
            os.close(self._kept)
        self.port.unlink(missing_ok=True)
        self._process, self._guard, self._qmp, self._kept = None, None, None, -1

    def ask(self, command: str, **arguments: object) -> Any:
        """Return QEMU's result of a QMP command. Raise CannotEmulate for an error or no answer."""
        assert self._qmp
        self._qmp.sendall(json.dumps({"execute": command, "arguments": arguments}).encode())
        while "event" in (answer := self._message()):
            pass
        if "error" in answer:
            raise CannotEmulate(f"QEMU refuses {command}: {answer['error']['desc']}")
        return answer["return"]

    def _message(self) -> dict[str, Any]:
        assert self._qmp
        while b"\n" not in self._begun:
            try:
                data = self._qmp.recv(65536)
            except OSError as error:
                raise self._failure(f"QEMU does not answer: {error}") from None
            if not data:
                raise self._failure("QEMU has ended")
            self._begun += data
        line, self._begun = self._begun.split(b"\n", 1)
        return json.loads(line)

    def _failure(self, sentence: str) -> CannotEmulate:
        said = self._log.read_text("utf-8", "replace").strip().splitlines()
        return CannotEmulate(f"{sentence}{': ' + said[-1] if said else ''}")

    def _keep(self, terminal: str) -> None:
        """Link `port` to the pseudo-terminal, and keep that open, so that QEMU goes on reading."""
        self._kept = os.open(terminal, os.O_RDWR | os.O_NOCTTY)
        tty.setraw(self._kept)
        draft = self.port.with_name(f"{self.port.name}.{time.monotonic_ns()}")
        draft.symlink_to(terminal)
        draft.replace(self.port)
