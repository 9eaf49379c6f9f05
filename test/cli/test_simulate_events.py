"""`simulate --events`: one row for each impact, from the parameters to the file."""

from pathlib import Path

import numpy as np
import pytest

from rbdyn_ros.__main__ import main

GOLDEN = Path(__file__).parents[1] / "golden"
THIRTY = "initial.orientation=[0.9659258262890683,0,0.25881904510252074,0]"
FLOOR = (
    "contact.floor.enabled=true",
    "contact.floor.height=-0.1",
    "contact.floor.restitution=0.5",
)
ROD = "rod.inertia=[0.4801,0.4801,0.0002]"
FORMER = "integrator.split_at_impact=true"


@pytest.fixture
def simulate(tmp_path, capsys, monkeypatch):
    """Run `simulate --events events.csv` in an empty folder: (exit code, stderr)."""
    monkeypatch.chdir(tmp_path)

    def run(*assignments, duration="1.6", step="0.001", events="events.csv", options=()):
        words = [*options, *(w for assignment in assignments for w in ("--set", assignment))]
        code = main(
            [
                "simulate",
                *words,
                "--duration",
                duration,
                "--step",
                step,
                "--events",
                events,
                "--out",
                "run.csv",
            ]
        )
        return code, capsys.readouterr().err

    return run


def rows():
    return np.genfromtxt("events.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")


def test_the_rows_are_the_impacts_of_the_reference(simulate):
    golden = np.genfromtxt(GOLDEN / "rod_tip_frictionless_impacts.csv", delimiter=",", names=True)
    code, err = simulate(THIRTY, ROD, *FLOOR)
    found = rows()
    assert code == 0 and f"events.csv: {len(found)} impacts" in err
    assert found.dtype.names == (
        "t",
        "contact",
        "P_n",
        "P_t1",
        "P_t2",
        "u_n_minus",
        "u_n_plus",
        "status",
    )
    np.testing.assert_allclose(found["t"][:3], golden["t"], atol=2e-6)
    np.testing.assert_allclose(found["P_n"][:3], golden["P_n"], atol=1e-4)
    np.testing.assert_allclose(found["u_n_plus"], -0.5 * found["u_n_minus"], rtol=1e-9)
    assert set(found["contact"]) == {"floor"} and set(found["status"]) == {"slide"}
    assert not found["P_t1"].any() and not found["P_t2"].any()


def test_a_run_under_a_law_has_its_impacts_too(simulate):
    """Under `rest`, which exerts no force, they are those of the run without a law."""
    assert simulate(THIRTY, ROD, *FLOOR)[0] == 0
    alone = rows()
    code, err = simulate(THIRTY, ROD, *FLOOR, FORMER, options=("--controller", "rest"))
    found = rows()
    assert code == 0 and "note: integrator.split_at_impact has no effect any more" in err
    assert f"events.csv: {len(found)} impacts" in err and len(found) > 2
    assert found["contact"].tolist() == alone["contact"].tolist()
    for column in ("t", "P_n", "u_n_minus", "u_n_plus"):
        np.testing.assert_allclose(found[column], alone[column], rtol=1e-9)


def test_every_impact_of_a_long_run_is_written(simulate):
    """More than the memory of the contacts holds at once, each as in the first half alone."""
    scene = (
        *(
            "contact.stops.x_min=-0.01",
            "contact.stops.x_max=0.01",
            "contact.stops.restitution=1.0",
        ),
        *("cart.damping=0.0", "initial.cart_velocity=[1.0,0.0]"),
    )
    assert simulate(*scene, duration="12")[0] == 0
    half = rows()
    code, err = simulate(*scene, duration="24")
    whole = rows()
    assert code == 0 and f"{len(whole)} impacts\n" in err and len(whole) > 1000 > len(half) > 300
    assert (np.diff(whole["t"]) >= 0.0).all() and whole["t"][-1] > 23.5
    assert (whole[: len(half)] == half).all()


def test_rail_ends_and_obstacles_have_their_names(simulate):
    """A cart that is pushed through a corner of its rails; its rod, hanging, swings against a
    sphere with friction.
    """
    walls = [
        "contact.stops.x_max=0.2",
        "contact.stops.y_min=-0.3",
        "contact.stops.restitution=0.6",
    ]
    ball = [
        "contact.obstacle.kind=sphere",
        "contact.obstacle.center=[0.9,-0.2,-1.6]",
        "contact.obstacle.radius=0.3",
    ]
    pushed = ["initial.orientation=[0,1,0,0]", "initial.cart_velocity=[2.0,-1.0]"]
    rough = ["contact.obstacle.friction=0.5", "contact.obstacle.restitution=0.2"]
    assert simulate(*walls, *ball, *rough, *pushed, duration="2")[0] == 0
    found = rows()
    assert set(found["contact"]) == {"stops.x", "stops.y", "obstacle"}
    for name, e in (("stops.x", 0.6), ("stops.y", 0.6), ("obstacle", 0.2)):
        mine = found[(found["contact"] == name) & (found["u_n_minus"] < -0.1)]
        assert len(mine) and np.allclose(mine["u_n_plus"], -e * mine["u_n_minus"], rtol=1e-9), name
    hits = found[found["contact"] == "obstacle"]
    friction, limit = np.hypot(hits["P_t1"], hits["P_t2"]), 0.5 * hits["P_n"]
    assert np.all(friction <= limit * (1.0 + 1e-9))
    np.testing.assert_allclose(
        friction[hits["status"] == "slide"], limit[hits["status"] == "slide"], rtol=1e-9
    )


def test_a_run_without_impacts_writes_the_names_of_the_columns_only(simulate):
    assert simulate(*FLOOR, duration="0.1")[0] == 0
    assert Path("events.csv").read_text() == "t,contact,P_n,P_t1,P_t2,u_n_minus,u_n_plus,status\n"


@pytest.mark.parametrize(
    "assignments, events, sentence",
    [
        (
            (),
            "events.csv",
            (
                "--events is given, but the pendulum meets nothing; set "
                "contact.floor.enabled=true, a stop or an obstacle"
            ),
        ),
        (FLOOR, "events.npz", "--events is events.npz; it must end in .csv"),
        (FLOOR, "nowhere/events.csv", "--events is nowhere/events.csv, but there is no folder"),
    ],
)
def test_events_that_cannot_be_written_are_refused_before_the_run(
    simulate, assignments, events, sentence
):
    code, err = simulate(*assignments, events=events)
    assert code == 2 and sentence in err and not Path("run.csv").exists()
