"""Who may connect to the live view, and which thread writes to it."""

import logging
import math
import re
import socket
import threading
from unittest.mock import MagicMock

import pytest
from view_browser import free_port, until

pytest.importorskip("viser", reason="viser is not installed: pip install 'rbdyn_ros[view]'")

import msgspec  # noqa: E402
import viser  # noqa: E402
import websockets.asyncio.server  # noqa: E402
from websockets.exceptions import InvalidStatus  # noqa: E402
from websockets.sync.client import connect  # noqa: E402

from rbdyn_ros.view import server as view_server  # noqa: E402
from rbdyn_ros.view.drawing import Drawing  # noqa: E402
from rbdyn_ros.view.source import Alert, SceneState, Shape, Solid  # noqa: E402
from rbdyn_ros.view.toolbar import Toolbar, status_html  # noqa: E402


@pytest.fixture(scope="module")
def server():
    """A server at a free port of this machine."""
    made = view_server.start("127.0.0.1", free_port())
    yield made
    made.stop()


def connected(server, origin, name="127.0.0.1"):
    """The connection of a page of `origin`, as a browser makes it."""
    url = f"ws://{name}:{server.get_port()}"
    protocol = f"viser-v{viser.__version__}"
    return connect(url, origin=origin, subprotocols=[protocol], compression=None)


def test_a_fault_is_said_once_and_its_remedy_is_seen():
    """The words have five lines: a reason that is said twice hides what to do."""
    why = "fault: the law mine raised ValueError at t = 2.002 s"
    state = SceneState(2.0, status=why, problems=(Alert(why, "Press Reset."),))
    words = status_html(MagicMock(title="mine", recorded=math.nan), state)
    assert words.count("ValueError") == 1 and ">fault</span>" in words and "Press Reset." in words


@pytest.mark.parametrize(
    "takes_point, travel, said",
    [
        (
            True,
            2.0,
            "Drag the rod or the cart to pull it. Click the plane to send the cart there.",
        ),
        (False, 2.0, "Drag the rod or the cart to pull it."),
        (True, 0.0, "Drag the rod to pull it."),  # the cart is fixed
    ],
)
def test_what_a_person_can_do_is_said_where_it_has_an_effect(takes_point, travel, said):
    can = {"can_push": True, "can_set_point": takes_point}
    source = MagicMock(title="mine", recorded=math.nan, **can)
    words = status_html(source, SceneState(2.0, shape=Shape(travel=travel), status="playing"))
    assert f">{said}</span>" in words


def test_a_picture_that_the_browser_does_not_render_is_said():
    said, client = [], MagicMock()
    client.get_render.side_effect = TimeoutError
    source = MagicMock(can_seek=False)
    refuse = lambda *words: said.append(words)  # noqa: E731
    toolbar = Toolbar(MagicMock(), source, refuse, MagicMock(), {}, MagicMock(), {})
    toolbar._save_picture(client)
    assert [words[:2] for words in said] == [(client, "Picture")] and "again" in said[0][2]
    assert not client.send_file_download.called


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost"])
def test_the_pages_own_origin_connects(server, name):
    with connected(server, f"http://{name}:{server.get_port()}", name) as page:
        assert page.recv(timeout=60.0)


def test_a_program_that_is_no_browser_connects(server):
    with connected(server, None) as page:
        assert page.recv(timeout=60.0)


@pytest.mark.parametrize("what", [b"", b"GET", b"\x16\x03\x01\x02", b"POST / HTTP/1.1\r\n\r\n"])
def test_a_connection_that_asks_for_no_page_is_passed_over(caplog, monkeypatch, what):
    """Before the first page is served, too: browsers open some ahead of need, and close them."""
    monkeypatch.setattr(logging.getLogger("websockets.server"), "filters", [])
    server = view_server.start("127.0.0.1", free_port())
    try:
        address = "127.0.0.1", server.get_port()
        with socket.create_connection(address, timeout=10.0) as connection:
            connection.sendall(what)
            connection.shutdown(socket.SHUT_WR)
            connection.recv(4096)
        with connected(server, None) as page:
            assert page.recv(timeout=60.0)
        assert not [record for record in caplog.records if record.exc_info]
    finally:
        server.stop()


def test_memory_is_given_back_when_a_browser_leaves(server, monkeypatch):
    is_given = threading.Event()
    monkeypatch.setattr(view_server, "give_memory_back", is_given.set)
    camera = {"wxyz": (1.0, 0.0, 0.0, 0.0), "position": (1.0,) * 3, "look_at": (0.0,) * 3}
    camera |= {"fov": 1.0, "near": 0.1, "far": 9.0, "image_height": 480, "image_width": 640}
    camera |= {"type": "ViewerCameraMessage", "up_direction": (0.0, 0.0, 1.0)}
    with connected(server, None) as page:
        page.send(msgspec.msgpack.encode(camera))
        assert until(server.get_clients) and not is_given.is_set()
    assert is_given.wait(10.0)


@pytest.mark.parametrize("origin", ["https://example.org", "null", "http://127.0.0.1:1"])
def test_a_page_of_another_origin_does_not_connect(server, origin):
    with pytest.warns(RuntimeWarning, match="refuses the page of"):
        with pytest.raises(InvalidStatus) as refused:
            connected(server, origin)
    assert refused.value.response.status_code == 403
    assert origin in refused.value.response.body.decode()


@pytest.mark.parametrize("name", ["Origin", "Host"])
@pytest.mark.parametrize("also", ["", "Connection: Upgrade\r\nUpgrade: websocket\r\n"])
def test_a_header_that_is_given_twice_is_a_bad_request(server, caplog, name, also):
    own = f"127.0.0.1:{server.get_port()}"
    given = {"Host": [own], "Origin": [f"http://{own}"]}
    given[name] *= 2
    lines = "".join(f"{key}: {value}\r\n" for key, values in given.items() for value in values)
    also += "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n"
    with socket.create_connection(("127.0.0.1", server.get_port()), timeout=20.0) as link:
        link.sendall(f"GET / HTTP/1.1\r\n{lines}{also}\r\n".encode())
        assert link.recv(4096).startswith(b"HTTP/1.1 400 ")
    assert "Traceback" not in caplog.text


@pytest.mark.parametrize(
    "origin, asked, host, is_own",
    [
        ("http://localhost:9000", "localhost:9000", "127.0.0.1", True),  # ssh -L 9000:...
        ("http://[::1]:8080", "[::1]:8080", "::1", True),
        ("http://Robot:8080", "robot:8080", "0.0.0.0", True),
        ("https://robot", "robot", "0.0.0.0", True),  # behind a server that encrypts
        ("http://example.org:8080", "robot:8080", "0.0.0.0", False),
        ("http://example.org:8080", "example.org:8080", "127.0.0.1", False),  # DNS rebinding
        ("http://127.0.0.1:8888", "127.0.0.1:8080", "127.0.0.1", False),  # a neighbor's page
        ("null", "127.0.0.1:8080", "127.0.0.1", False),
        ("", "", "0.0.0.0", False),
    ],
)
def test_an_origin_is_the_pages_own_if_it_is_what_was_asked(origin, asked, host, is_own):
    assert view_server.is_own(origin, asked, host) == is_own


def test_a_viser_that_opens_its_port_otherwise_is_warned_of(monkeypatch):
    monkeypatch.setattr(viser, "ViserServer", MagicMock())
    before = websockets.asyncio.server.serve
    with pytest.warns(RuntimeWarning, match="pages of other origins are not refused"):
        view_server.start("127.0.0.1", free_port())
    assert websockets.asyncio.server.serve is before


def test_what_writes_runs_in_the_thread_of_the_event_loop(server):
    write = view_server.Writer(server)
    assert write(threading.get_ident) != threading.get_ident()
    assert write(lambda: write(threading.get_ident)) == write(threading.get_ident)
    with pytest.raises(ZeroDivisionError):
        write(lambda: 1 / 0)


def test_an_obstacle_that_is_made_anew_is_drawn_where_it_is(server):
    options = {"arrow.scale": 0.2, "trail.duration": 1.0, "dark": False}
    drawing = Drawing(server.scene, options)

    def place(*positions) -> list:
        solids = tuple(Solid(f"box{i}", "box", p) for i, p in enumerate(positions))
        drawing.draw(SceneState(0.0, shape=Shape(solids=solids)), None, None)
        return [tuple(node.position) for node in drawing._solids]

    low, high = (0.0, 0.0, 0.0), (0.0, 0.0, 1.0)
    assert place(low) == [low]
    assert place(high) == [high]
    for _ in range(20):  # ids come back
        assert place(low, low) == [low, low]
        assert place(high, high) == [high, high]
        assert place(low) == [low]
        assert place(high) == [high]


@pytest.mark.parametrize(
    "host, reason",
    [("1.2.3.4", "^Cannot assign requested address$"), ("no-such-name.invalid", "not known|fail")],
)
def test_an_address_of_another_machine_is_an_error(host, reason):
    """The server tried one port after the other, and said nothing."""
    with pytest.raises(OSError) as refusal:
        view_server.start(host, free_port())
    assert re.search(reason, refusal.value.strerror)
