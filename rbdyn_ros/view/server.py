"""viser's server, with what it leaves to its user: the check of who connects, and a single thread
that writes.
"""

import asyncio
import ctypes
import gc
import io
import logging
import socket
import sys
import threading
import warnings
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import redirect_stdout
from http import HTTPStatus
from typing import Any, TypeVar
from urllib.parse import urlsplit

import viser
import websockets.asyncio.server
from websockets.exceptions import InvalidHandshake

from rbdyn_ros.parameters.nodes import LOOPBACK

PATIENCE = 10.0  # [s] for the server's thread to write
T = TypeVar("T")
_STARTING = threading.Lock()
_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8  # of malloc.h


def start(host: str, port: int) -> viser.ViserServer:
    """Return a server at a port, or at the next that is free, that refuses pages of other origins.

    Raise OSError where no port is free, or the address is none of this machine's.

    viser 1.1 leaves the origin unchecked and passes no hook on to `websockets`, so the check is
    given to the call of `websockets.asyncio.server.serve` by which it opens its port.
    """
    # Let glibc give each block of 64 KiB or more back as soon as it is free, and use two arenas.
    # The memory of a browser's connection is allocated and freed again: else glibc raises that
    # size to that of the largest block, and keeps 30 KiB a connection in pieces between others.
    _call_glibc("mallopt", _M_MMAP_THRESHOLD, 65536)
    _call_glibc("mallopt", _M_ARENA_MAX, 2)
    family = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0][0]
    with socket.socket(family, socket.SOCK_STREAM) as probe:  # viser tries all ports, silently
        probe.bind((host, 0))
    logging.getLogger("websockets.server").addFilter(_asks_for_page)
    serve, is_checked = websockets.asyncio.server.serve, threading.Event()

    def checking_serve(*arguments: Any, process_request: Any, **options: Any) -> Any:
        def process(connection: Any, request: Any) -> Any:
            for name in ("Origin", "Host"):  # of which a browser sends one
                if len(request.headers.get_all(name)) > 1:
                    said = f"the request has more than one header {name}\n"
                    return connection.respond(HTTPStatus.BAD_REQUEST, said)
            refusal = _refusal(request.headers, host)
            if refusal:
                warnings.warn(refusal, RuntimeWarning, stacklevel=1)
                return connection.respond(HTTPStatus.FORBIDDEN, refusal + "\n")
            return process_request(connection, request)

        is_checked.set()
        return serve(*arguments, process_request=process, **options)

    with _STARTING, redirect_stdout(io.StringIO()):  # its address, which its owner prints
        vars(websockets.asyncio.server)["serve"] = checking_serve
        try:
            server = viser.ViserServer(host, port, verbose=False)
        finally:
            vars(websockets.asyncio.server)["serve"] = serve

    @server.on_client_disconnect
    async def _(client: viser.ClientHandle) -> None:
        give_memory_back()

    if not is_checked.is_set():
        warnings.warn(
            f"viser {viser.__version__} opens its port in a way of its own: pages of other "
            "origins are not refused (doc/security.md)",
            RuntimeWarning,
            stacklevel=2,
        )
    return server


def give_memory_back() -> None:
    """Return the memory of a browser's connection to the system: Python would keep reference
    cycles for minutes, glibc some 10 KiB more each time, and 20 a minute while a browser is
    connected.
    """
    gc.collect()
    _call_glibc("malloc_trim", 0)


def keep_for_good() -> None:
    """Exclude all objects that exist now from Python's garbage collection.

    A full collection comes only after a quarter as many new objects: beside the 200 000 objects of
    the modules what is made and dropped at each picture would pile up for a quarter of an hour.
    """
    gc.collect()
    gc.freeze()


def _call_glibc(name: str, *numbers: int) -> None:
    """Call a function of glibc, where that is the C library."""
    if sys.platform == "linux" and hasattr(libc := ctypes.CDLL(None), name):
        libc[name](*numbers)


def _asks_for_page(record: logging.LogRecord) -> bool:
    """Return whether a record is none of a connection that asked for no page: a browser opens some
    ahead of need and closes them unused. viser filters these from the first page on.
    """
    return not (record.exc_info and isinstance(record.exc_info[1], InvalidHandshake))


def _refusal(headers: Any, host: str) -> str:
    """Return why a request is refused: "" for one of the page's own origin, and for one without
    origin, which no browser sent.
    """
    origin, asked = headers.get("Origin"), headers.get("Host", "")
    if origin is None or is_own(origin, asked, host):
        return ""
    return f"the live view refuses the page of {origin}, which is not its own at http://{asked}"


def is_own(origin: str, asked: str, host: str) -> bool:
    """Return whether a page of `origin` may connect to a server that is bound to `host` and was
    addressed as `asked`. At a loopback address the name must be one too, whatever the name server
    says.
    """
    page = urlsplit(origin.lower())
    if not page.netloc or page.netloc != asked.lower():
        return False
    return host not in LOOPBACK or page.hostname in LOOPBACK


class Writer:
    """A callable that writes to the page in the thread of viser's event loop: viser sets an
    `asyncio.Event` at each message, which no other thread may do.
    """

    def __init__(self, server: viser.ViserServer):
        self._loop = server.get_event_loop()

    def __call__(self, act: Callable[..., T], *arguments: Any) -> T:
        """Return the result of `act(*arguments)`, which must not wait. Raise RuntimeError once the
        server has stopped, TimeoutError where its thread does not run in time.
        """
        if _running_loop() is self._loop:
            return act(*arguments)
        done: Future[T] = Future()

        def run() -> None:
            try:
                done.set_result(act(*arguments))
            except BaseException as error:
                done.set_exception(error)

        self._loop.call_soon_threadsafe(run)
        return done.result(PATIENCE)


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
