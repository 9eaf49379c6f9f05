"""Three codecs and three regulators, written apart, agree: this package's, the C client's, the
Python client's.
"""

import ctypes
import json
import math
import re
import time

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

pytest.importorskip("cobs", reason="cobs is not installed (./testbed test brings it)")

from rbdyn_ros.cli.gains import design_law  # noqa: E402
from rbdyn_ros.control.laws import policy  # noqa: E402
from rbdyn_ros.identification import excitation, plant_fit  # noqa: E402
from rbdyn_ros.identification.records import MotionRecord  # noqa: E402
from rbdyn_ros.integrators.select import select  # noqa: E402
from rbdyn_ros.integrators.step import step  # noqa: E402
from rbdyn_ros.parameters import plant_params  # noqa: E402
from rbdyn_ros.parameters.yaml_file import offline_values  # noqa: E402
from rbdyn_ros.pendulum import reduced_pendulum, spherical_pendulum  # noqa: E402
from rbdyn_ros.types import Input, State  # noqa: E402
from rbdyn_ros.wire.frame import (  # noqa: E402
    FORCE,
    HEARTBEAT,
    SAFE,
    STATE,
    Frame,
    Malformed,
)
from rbdyn_ros.wire.link import Link  # noqa: E402

from .clients import (  # noqa: E402
    FILES,
    FOLDER,
    RESULTS,
    LinkEnd,
    PlantState,
    WireFrame,
    library,
    python_client,
    regulator,
)
from .frames import UPRIGHT, frames, stuffed, unstuffed  # noqa: E402


@pytest.fixture(scope="module")
def c(tmp_path_factory):
    """The C client's library."""
    return library(tmp_path_factory.mktemp("c"))


@pytest.fixture(scope="module")
def python():
    """The Python client."""
    return python_client()


def to_c(frame: Frame) -> WireFrame:
    return WireFrame(*frame[:7], (ctypes.c_float * 11)(*frame.numbers))


def heard_by_c(c, data: bytes) -> list:
    """What the C client makes of bytes: frames, and the words for what is none."""
    receiver, frame, found = ctypes.create_string_buffer(256), WireFrame(), []
    for byte in data:
        word = RESULTS[c.wire_receive(receiver, byte, ctypes.byref(frame))]
        if word == "frame":
            numbers = tuple(frame.numbers)[: (0, 0, 11, 2, 11)[frame.kind]]
            header = (frame.kind, frame.flags, frame.sequence, frame.time, frame.echo, frame.held)
            found.append(Frame(*header, frame.stamp, numbers))
        elif word != "nothing":
            found.append(Malformed(word))
    return found


@given(frame=frames())
def test_all_send_the_same_bytes(c, python, frame):
    out = ctypes.create_string_buffer(86)
    size = c.wire_encode(ctypes.byref(to_c(frame)), out)
    payload = (frame.stamp, *frame.numbers) if frame.numbers else ()
    assert out.raw[:size] == stuffed(frame) == python.encode(*frame[:6], *payload)


@given(frame=frames())
def test_all_hear_the_same_frame(c, python, frame):
    data = stuffed(frame)
    payload = (frame.stamp, *frame.numbers) if frame.numbers else ()
    assert heard_by_c(c, data) == [frame]
    assert python.decode(data[:-1]) == (*frame[:6], *payload)


@given(
    data=st.lists(st.one_of(frames().map(stuffed), st.binary(max_size=120)), max_size=8),
    flips=st.lists(st.integers(0, 10_000), max_size=4),
)
def test_all_refuse_the_same_for_the_same_reason(c, python, data, flips):
    """Streams with noise and flipped bits in them."""
    stream = bytearray(b"".join(data))
    for flip in flips if stream else ():
        stream[flip // 8 % len(stream)] ^= 1 << flip % 8
    ours = unstuffed(bytes(stream))
    assert heard_by_c(c, bytes(stream)) == ours
    theirs = [python.decode(piece) for piece in bytes(stream).split(b"\0")[:-1] if piece]
    assert [frame is None for frame in theirs] == [
        isinstance(frame, Malformed) and frame.reason != "not unit" for frame in ours
    ]


@given(data=st.binary(max_size=300))
def test_the_crc_is_zlibs(c, data):
    from binascii import crc32

    assert c.wire_crc32(data, ctypes.c_size_t(len(data))) == crc32(data)


def test_the_gains_are_those_of_the_design():
    options, law, _ = design_law("lqr", FILES)
    saved = json.loads((FOLDER / "gains.json").read_text())
    assert saved["gains"] == pytest.approx(law.gains.tolist(), rel=1e-6)
    assert (saved["force_limit"], saved["period"]) == (options.force_limit, options.period)
    header = (FOLDER / "gains.h").read_text()
    written = re.search(r"GAINS \{(.*)\}", header)[1].replace("f", "").split(",")
    assert list(map(float, written)) == pytest.approx(law.gains.tolist(), rel=1e-6)
    assert f"FORCE_LIMIT {options.force_limit:.1f}f" in header


def test_the_weights_are_those_of_the_policy(capsys):
    from rbdyn_ros.__main__ import main

    assert main(["gains", "--controller", "policy", "--format", "c"]) == 0
    assert (FOLDER / "policy_weights.h").read_text() == capsys.readouterr().out
    assert main(["gains", "--controller", "policy", "--format", "json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert made["sizes"] == [10, 16, 16, 2] and len(made["weights"]) == 482
    assert main(["gains", "--controller", "policy"]) == 0
    assert "layers of 10 16 16 2 numbers" in capsys.readouterr().out


def test_the_python_board_answers_states_and_tells_the_time(python, law):
    """Against this package's link: the answer repeats the stamp, the echo gives the clocks'
    offset, old states are left.
    """
    ours, written = Link(100_000_000), []
    board = python.Board(law[1], written.append)
    state = ours.outgoing(time.monotonic_ns(), STATE, 7, UPRIGHT[:2] + (0.96, 0.28) + UPRIGHT[4:])
    board.take(b"\5 noise \0" + state[:30])
    board.take(state[30:] + state)  # cut in two, then doubled
    (answer,) = written
    (force,) = ours.incoming(answer, time.monotonic_ns())
    assert (force.kind, force.stamp) == (FORCE, 7) and math.hypot(*force.numbers) == pytest.approx(
        20.0
    )
    assert ours.clock.is_known and abs(ours.clock.offset(force.time)) < 1e9  # one clock


@st.composite
def _numbers(draw) -> tuple:
    """A state: any attitude, rates up to 5 rad/s, a cart up to 3 m away."""
    wxyz = draw(st.tuples(*[st.floats(-1.0, 1.0)] * 4).filter(lambda q: math.hypot(*q) > 0.1))
    q = tuple(component / math.hypot(*wxyz) for component in wxyz)
    return (
        *draw(st.tuples(*[st.floats(-3.0, 3.0)] * 2)),
        *q,
        *draw(st.tuples(*[st.floats(-5.0, 5.0)] * 5)),
    )


@given(
    numbers=_numbers().filter(
        lambda numbers: 1.0 - 2.0 * (numbers[3] ** 2 + numbers[4] ** 2) > -0.999
    )
)
def test_all_regulators_push_alike(c, python, law, numbers):
    """Near hanging they differ: there the direction of the tilt hangs on the last bit."""
    force = (ctypes.c_float * 2)()
    c.lqr_force((ctypes.c_float * 11)(*numbers), force)
    ours, saved = law
    expected = ours.command(
        0.0, State(0.0, np.array(numbers[:6]), np.array(numbers[6:])), np.zeros(2)
    )
    assert tuple(force) == pytest.approx(tuple(expected), abs=2e-2)
    assert python.lqr(saved, *numbers) == pytest.approx(tuple(expected), abs=1e-4)


@given(numbers=_numbers())
def test_both_policies_push_alike(c, numbers):
    force = (ctypes.c_float * 2)()
    c.policy_force((ctypes.c_float * 11)(*numbers), force)
    state = State(0.0, np.array(numbers[:6]), np.array(numbers[6:]))
    law = policy.design(spherical_pendulum, spherical_pendulum.Params(), policy.Options())
    assert tuple(force) == pytest.approx(tuple(law.command(0.0, state, np.zeros(2))), abs=2e-2)


@given(numbers=st.tuples(*[st.floats(width=32)] * 11))
@example((0.0, 0.0, 0.0, 1.0, 1e-40, *(0.0,) * 6))  # hanging, all but for a denormal tilt
@example((math.inf, math.inf, 1.0, *(0.0,) * 8))
@example((3e38, 0.0, 1.0, *(0.0,) * 8))
def test_a_law_in_c_never_gives_more_than_its_limit(c, numbers):
    """Whatever a state is; zero where it is none."""
    for law in (c.lqr_force, c.policy_force):
        force = (ctypes.c_float * 2)(math.nan, math.nan)
        law((ctypes.c_float * 11)(*numbers), force)
        assert math.hypot(*force) <= 20.0 * (1.0 + 1e-6)
        if not all(abs(number) <= 1e6 for number in numbers):
            assert tuple(force) == (0.0, 0.0)


@pytest.fixture(scope="module")
def law():
    """The package's regulator for config/pendulum.yaml, and the Python client's gains."""
    return regulator(), json.loads((FOLDER / "gains.json").read_text())


def test_the_plant_in_c_is_the_reduced_pendulum(c):
    """A second of free fall in circles, in steps of 1 ms, against the package's equations in steps
    of 0.25 ms.
    """
    system = spherical_pendulum.build(plant_params(offline_values(FILES[:1])))
    plant, force = PlantState(), (ctypes.c_float * 2)(3.0, -2.0)
    c.plant_lean(ctypes.byref(plant), 0.3)
    plant.dk[:] = (0.0, 0.5, 0.0)
    y = np.concatenate([plant.x, plant.v, plant.k, plant.dk])

    def rate(y):
        a, ddk = reduced_pendulum.accelerations(
            system, 0.0, (3.0, -2.0), tuple(y[4:7]), tuple(y[7:]), tuple(y[2:4])
        )
        return np.concatenate([y[2:4], a[:2], y[7:], ddk])

    for _ in range(1000):
        c.plant_step(ctypes.byref(plant), force, 1e-3)
    for _ in range(4000):
        h = 2.5e-4
        k1 = rate(y)
        k2 = rate(y + h / 2 * k1)
        k3 = rate(y + h / 2 * k2)
        y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(y + h * k3))
    assert np.concatenate([plant.x, plant.v, plant.k, plant.dk]) == pytest.approx(y, abs=1e-9)


@pytest.mark.parametrize("at", [0.0, 0.7, 2.4])
def test_a_push_in_c_is_the_disturbance_of_the_package(c, at):
    """On the cart, below and beyond the center of mass, for half a second that begins at a tilt
    and a rate; against the coupled equations with a quaternion, which the C plant does without.
    """
    system = spherical_pendulum.build(plant_params(offline_values(FILES[:1])))
    push, u, h = (1.5, -2.0, 3.0), (3.0, -2.0), 1e-3
    plant, state = PlantState(), spherical_pendulum.upright(0.3)
    c.plant_lean(ctypes.byref(plant), 0.3)
    state.v[2] = 0.5  # about the rod's own x, which is normal to the plane it leans in
    plant.dk[:] = (0.0, -0.5, 0.0)
    plant.push[:], plant.at = push, at
    acting = Input(np.array(u), np.zeros((0, 4)), np.array([*push, 0.0, 0.0, 0.0, 0.0, 0.0, at]))
    method, force = select("rk4"), (ctypes.c_float * 2)(*u)
    for _ in range(500):
        c.plant_step(ctypes.byref(plant), force, h)
        state = step(method, system, state, acting, h).state
    k = spherical_pendulum.point(state.q, (0.0, 0.0, 1.0)) - [*state.q[:2], 0.0]
    assert list(plant.k) == pytest.approx(k, abs=1e-9)
    assert list(plant.x) == pytest.approx(state.q[:2], abs=1e-9)
    assert list(plant.v) == pytest.approx(state.v[:2], abs=1e-9)


def test_a_plant_in_c_with_other_numbers_is_identified(tmp_path, law):
    """By its states and forces as they are in frames, single precision; the law is that of
    another plant.
    """
    truth = {"cart.mass": 2.3, "rod.center_of_mass": 1.1, "rod.inertia": 0.43}
    options = [
        f"-D{n}={v}"
        for n, v in zip(("PLANT_CART", "PLANT_CENTER", "PLANT_INERTIA"), truth.values())
    ]
    other, plant, numbers = library(tmp_path, *options), PlantState(), (ctypes.c_float * 11)()
    other.plant_lean(ctypes.byref(plant), 0.05)
    h, sine, states, forces = 0.002, excitation.build(0.5, 5.0, 0.002, 6.0), [], []
    wave = sine.sample(h)
    for k in range(6000):
        other.plant_measure(ctypes.byref(plant), numbers)
        states.append(np.array(numbers, float))
        state = State(k * h, states[-1][:6], states[-1][6:])
        force = law[0].command(k * h, state, np.zeros(2)) + (wave[k % len(wave)], 0.0)
        forces.append((ctypes.c_float * 2)(*force))
        other.plant_step(ctypes.byref(plant), forces[-1], h)
    run = np.array(states)
    record = MotionRecord(h, run[:, :2], run[:, 2:6], run[:, 6:], np.array(forces[:-1], float))
    fit = plant_fit.fit(
        [record], spherical_pendulum.build(plant_params(offline_values(FILES[:1])))
    )
    for name, value in truth.items():
        assert fit.values[fit.names.index(name)] == pytest.approx(value, rel=1e-3)


def test_what_the_plant_in_c_measures_is_its_motion(c):
    """Its quaternion carries e3 to the rod, its rates are those of the rod."""
    plant, numbers = PlantState(), (ctypes.c_float * 11)()
    c.plant_lean(ctypes.byref(plant), 0.7)
    plant.dk[:] = (0.2 * math.cos(0.7), -0.4, -0.2 * math.sin(0.7))
    c.plant_measure(ctypes.byref(plant), numbers)
    q, w = np.array(numbers[2:6]), np.array(numbers[8:11])
    from rbdyn_ros.geometry import unit_quaternion

    R = np.array(unit_quaternion.matrix(tuple(map(float, q))))
    assert R[:, 2] == pytest.approx(list(plant.k), abs=1e-6)
    assert R @ np.cross(w, (0.0, 0.0, 1.0)) == pytest.approx(list(plant.dk), abs=1e-6)


@pytest.mark.parametrize(
    "force, acts",
    [
        ((6e3, -8e3), (12.0, -16.0)),
        ((math.inf, 0.0), (0.0, 0.0)),
        ((0.0, math.nan), (0.0, 0.0)),
        ((3e38, 0.0), (20.0, 0.0)),
    ],
)
def test_the_plant_in_c_cuts_forces_at_its_own_limit(c, force, acts):
    """Ten thousand newtons for a second are those of its drives: some meters per second, and not
    740.
    """
    plants = PlantState(), PlantState()
    for plant, asked in zip(plants, (force, acts)):
        c.plant_lean(ctypes.byref(plant), 0.3)
        for _ in range(1000):
            c.plant_step(ctypes.byref(plant), (ctypes.c_float * 2)(*asked), 1e-3)
    one, two = (np.concatenate([plant.x, plant.v, plant.k, plant.dk]) for plant in plants)
    assert one == pytest.approx(two, rel=1e-6) and math.hypot(*one[2:4]) < 15.0


# the board's end of the link, in C

MS = 1_000_000  # [ns]


@pytest.fixture
def end(c):
    """A link that ends after 100 ms of silence, and what feeds it bytes that arrive at `now`: the
    frames that are new.
    """
    link = LinkEnd()
    c.link_begin(ctypes.byref(link), 100 * MS)

    def feed(data: bytes, now: int) -> list:
        frame, found = WireFrame(), []
        for byte in data:
            if c.link_receive(ctypes.byref(link), byte, now, ctypes.byref(frame)):
                found.append((frame.kind, frame.stamp, tuple(frame.numbers)))
        return found

    return link, feed


def test_a_frame_that_comes_after_the_watch_has_read_its_clock_is_no_silence(c, end):
    """An interrupt between the reading of the clock and the call: the arrival is later than
    `now`.
    """
    (link, feed), ours = end, Link(100 * MS)
    assert feed(ours.outgoing(1), 500 * MS)
    assert (
        c.link_watch(ctypes.byref(link), 500 * MS - 1) == 1
        and c.link_watch(ctypes.byref(link), 0) == 1
        and link.outages == 0
    )
    assert (
        c.link_watch(ctypes.byref(link), 600 * MS) == 1
        and c.link_watch(ctypes.byref(link), 600 * MS + 1) == 0
        and link.outages == 1
    )


def test_a_frame_that_is_sent_with_a_clock_read_before_an_arrival_says_held_zero(c, end):
    (link, feed), ours, out = end, Link(100 * MS), ctypes.create_string_buffer(86)
    feed(ours.outgoing(7), 500 * MS)
    for now, held in ((500 * MS - 5, 0), (500 * MS + 5, 5)):
        size = c.link_send(ctypes.byref(link), now, ctypes.byref(WireFrame(kind=HEARTBEAT)), out)
        (frame,) = unstuffed(out.raw[:size], ours.framing)
        assert (frame.echo, frame.held) == (7, held)


def test_a_force_flagged_safe_is_zero_on_the_board(end):
    _, feed = end
    sent = [Frame(FORCE, flags, i, i, 0, 0, 9, (3.0, 4.0)) for i, flags in enumerate((0, SAFE))]
    received = feed(b"".join(map(stuffed, sent)), MS)
    assert [(kind, stamp, numbers[:2]) for kind, stamp, numbers in received] == [
        (FORCE, 9, (3.0, 4.0)),
        (FORCE, 9, (0.0, 0.0)),
    ]
