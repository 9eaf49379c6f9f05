"""The clients of examples/hil_client: the C one built with every warning an error, as a program
and as a library.
"""

import ctypes
import importlib.util
import shutil
import subprocess
from pathlib import Path

import pytest

from rbdyn_ros.cli.gains import design_law
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.parameters import plant_params
from rbdyn_ros.parameters.yaml_file import offline_values
from rbdyn_ros.pendulum import spherical_pendulum

FOLDER = Path(__file__).parents[2] / "examples" / "hil_client"
FILES = [str(FOLDER.parents[1] / "config" / name) for name in ("pendulum.yaml", "lqr.yaml")]
STRICT = (
    "-std=c99",
    "-Wall",
    "-Wextra",
    "-Wconversion",
    "-Wshadow",
    "-Werror",
    "-pedantic",
    "-O2",
)
CHECKED = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
PORTABLE = (
    "link.c",
    "wire.c",
    "mac.c",
    "lqr.c",
    "policy.c",
    "plant.c",
)  # what a microcontroller runs
KEYED = "-DWIRE_KEYED"  # for an end that shares a key
RESULTS = (
    "nothing",
    "frame",
    "framing",
    "too long",
    "length",
    "crc",
    "version",
    "kind",
    "not finite",
    "not unit",
)  # wire_result


def build(target: Path, *options: str, sources: tuple = PORTABLE) -> Path:
    """Compile the sources; skips the test where there is no C compiler."""
    compiler = shutil.which("gcc") or shutil.which("cc")
    if not compiler:
        pytest.skip("there is no C compiler: apt-get install gcc")
    command = [
        compiler,
        *STRICT,
        *options,
        "-o",
        str(target),
        *(str(FOLDER / source) for source in sources),
        "-lm",
    ]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return target


def program(folder: Path, *options: str) -> Path:
    """The C client."""
    return build(folder / "hil_client", KEYED, *options, sources=("main_posix.c", *PORTABLE))


def regulator():
    """The package's regulator with the gains that the clients have."""
    options, *_ = design_law("lqr", FILES)
    return lqr.design(spherical_pendulum, plant_params(offline_values(FILES[:1])), options)


def python_client():
    """examples/hil_client/client.py as a module."""
    spec = importlib.util.spec_from_file_location("hil_client", FOLDER / "client.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


class WireFrame(ctypes.Structure):
    """wire_frame of wire.h."""

    _fields_ = [
        ("kind", ctypes.c_uint8),
        ("flags", ctypes.c_uint16),
        ("sequence", ctypes.c_uint32),
        ("time", ctypes.c_uint64),
        ("echo", ctypes.c_uint64),
        ("held", ctypes.c_uint32),
        ("stamp", ctypes.c_uint64),
        ("numbers", ctypes.c_float * 11),
    ]


class LinkEnd(ctypes.Structure):
    """link_end of link.h."""

    _fields_ = [
        ("timeout", ctypes.c_uint64),
        ("next", ctypes.c_uint32),
        ("up", ctypes.c_int),
        ("newest", ctypes.c_uint32),
        ("echo", ctypes.c_uint64),
        ("arrived", ctypes.c_uint64),
        ("accepted", ctypes.c_uint32),
        ("lost", ctypes.c_uint32),
        ("old", ctypes.c_uint32),
        ("outages", ctypes.c_uint32),
        ("results", ctypes.c_uint32 * len(RESULTS)),
        ("compact", ctypes.c_int),
        ("receiver", ctypes.c_char * 96),
    ]


class MacKey(ctypes.Structure):
    """mac_key of mac.h."""

    _fields_ = [("state", ctypes.c_uint32 * 8), ("tag_size", ctypes.c_size_t)]


class Receiver(ctypes.Structure):
    """wire_receiver of wire.h, with a key."""

    _fields_ = [
        ("bytes", ctypes.c_uint8 * (23 + 94)),
        ("count", ctypes.c_size_t),
        ("keyed", ctypes.c_int),
        ("size", ctypes.c_size_t),
    ]


class KeyedLinkEnd(ctypes.Structure):
    """link_end of link.h, with a key."""

    _fields_ = [
        *LinkEnd._fields_[:-1],
        ("receiver", Receiver),
        ("mac", MacKey),
        ("own", ctypes.c_uint64),
        ("other", ctypes.c_uint64),
        ("acknowledged", ctypes.c_uint64),
        ("forged", ctypes.c_uint32),
    ]


class PlantState(ctypes.Structure):
    """plant_state of plant.h."""

    _fields_ = [
        *(
            (name, ctypes.c_double * n)
            for name, n in (("x", 2), ("v", 2), ("k", 3), ("dk", 3), ("push", 3))
        ),
        ("at", ctypes.c_double),
    ]


def library(folder: Path, *options: str) -> ctypes.CDLL:
    """Its portable part."""
    made = ctypes.CDLL(str(build(folder / "client.so", "-shared", "-fPIC", *options)))
    made.wire_encode.restype = ctypes.c_size_t
    made.wire_crc32.restype = ctypes.c_uint32
    made.link_send.restype = ctypes.c_size_t
    made.link_send.argtypes = [ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p]
    made.link_begin.argtypes = made.link_watch.argtypes = [ctypes.c_void_p, ctypes.c_uint64]
    made.link_receive.argtypes = [
        ctypes.c_void_p,
        ctypes.c_uint8,
        ctypes.c_uint64,
        ctypes.c_void_p,
    ]
    made.plant_lean.argtypes = [ctypes.c_void_p, ctypes.c_double]
    made.plant_step.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_double]
    return made
