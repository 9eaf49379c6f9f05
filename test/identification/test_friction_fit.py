"""Coulomb friction in the fit: seen where it is, also of a plant in MuJoCo, 0 where it is not."""

import csv
import json
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rbdyn_ros.__main__ import main
from rbdyn_ros.control.laws import lqr
from rbdyn_ros.geometry import quaternion
from rbdyn_ros.identification import excitation, fit_report, plant_fit, plant_numbers, records
from rbdyn_ros.integrators import select
from rbdyn_ros.numerics.finite_difference import jacobian
from rbdyn_ros.pendulum import spherical_pendulum
from rbdyn_ros.pendulum.spherical_pendulum import Params
from rbdyn_ros.plant import closed_loop

H, DURATION = 0.004, 16.0  # [s]
PLANT = Params(
    cart_damping=1.2,
    rod_mass=0.6,
    rod_length=1.5,
    rod_center_of_mass=0.75,
    rod_inertia=(0.1126, 0.1126, 2e-4),
    joint_damping=0.01,
)
KNOWN = spherical_pendulum.build(Params(rod_mass=0.6, rod_length=1.5))
MU = 0.3


class Excited:
    """`lqr` with a multisine along the axes, and what it commanded."""

    def __init__(self, seed: int, amplitude: float = 6.0, h: float = H):
        self.law, self.commands = lqr.design(spherical_pendulum, PLANT, lqr.Options()), []
        wave = [
            excitation.build(0.1, 5.0, h, amplitude, seed + i, DURATION).sample(h) for i in (0, 1)
        ]
        self.wave = np.array(wave).T

    def command(self, t, state, reference):
        force = self.law.command(t, state, np.zeros(2))
        self.commands.append(force + self.wave[len(self.commands) % len(self.wave)])
        return self.commands[-1]


def measured(q, v, force, seed: int, h: float = H) -> records.MotionRecord:
    """The record with noise of 0.5 mm and 1 mrad."""
    draw = np.random.default_rng(seed)
    turn = quaternion.exp(draw.normal(0.0, 1e-3, (len(q), 3)))
    place = q[:, :2] + draw.normal(0.0, 5e-4, (len(q), 2))
    return records.MotionRecord(h, place, quaternion.product(q[:, 2:], turn), v, force)


def ours(params: Params, seed: int = 1, h: float = H) -> records.MotionRecord:
    """A record of our own plant."""
    law = Excited(seed, h=h)
    run = closed_loop.run(
        params,
        select.select("quaternion_midpoint"),
        law,
        spherical_pendulum.upright(0.02),
        DURATION,
        h,
        closed_loop.Conditions(step=5e-4),
    )
    assert run.ok, run.message
    return measured(run.q, run.v, np.array(law.commands), seed, h)


def within(found: plant_fit.Fit, true: Params, intervals: float = 2.0) -> None:
    """Every number is as near to the truth as its interval of 95 %, times two."""
    truth = plant_numbers.numbers(spherical_pendulum.build(true))
    for name, value, width in found.rows:
        assert abs(value - truth[name]) < intervals * width, (name, value, truth[name], width)


def test_a_friction_is_seen_beside_the_damping():
    params = PLANT._replace(cart_friction=MU)
    found = plant_fit.fit([ours(params)], KNOWN, optional=plant_numbers.FRICTION)
    within(found, params)
    assert found.given["cart.friction"] == pytest.approx(MU, rel=0.05)
    assert found.given["cart.damping"] == pytest.approx(1.2, rel=0.05)
    [(name, most)] = found.unseen
    assert name == "joint.friction" and most < 0.02
    shown, other = fit_report.friction_notes(found)
    assert "cart.friction is" in shown and "does not show joint.friction (less than" in other


def test_without_friction_the_damping_takes_its_place_far_outside_its_interval():
    """The reason for all of this."""
    params = PLANT._replace(cart_friction=MU)
    found = plant_fit.fit([ours(params)], KNOWN)
    rows = {name: (value, width) for name, value, width in found.rows}
    value, width = rows["cart.damping"]
    assert value - 1.2 > max(0.2, 3.0 * width)


def test_no_friction_is_found_where_there_is_none():
    found = plant_fit.fit([ours(PLANT)], KNOWN, optional=plant_numbers.FRICTION)
    assert found.names == plant_numbers.DEFAULT
    assert {name for name, _ in found.unseen} == {*plant_numbers.FRICTION}
    assert dict(found.unseen)["cart.friction"] < 0.05
    within(found, PLANT)


def test_a_plant_in_mujoco_with_its_own_dry_friction(monkeypatch):
    """Its constraint solver has another law near rest, and moves along x."""
    pytest.importorskip("mujoco", reason="MuJoCo is not installed (./testbed setup)")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[2] / "benchmarks"))
    import identify_friction

    record = identify_friction.recorded(MU, 3, own_loss=True, duration=24.0)
    names = ("cart.mass", "cart.damping", "cart.friction", "rod.center_of_mass", "rod.inertia")
    found = plant_fit.fit([record], KNOWN, (*names, "delay"))
    rows = {name: (value, width) for name, value, width in found.rows}
    truth = (2.0, 1.2, MU, 0.75, 0.1126, 0.012)
    for name, true in zip(found.names, truth):
        value, width = rows[name]
        assert abs(value - true) < 2.0 * width, (name, value, width)
    for name, true in (("cart.damping", 1.2), ("cart.friction", MU)):
        assert rows[name] == pytest.approx((true, 0.0), abs=0.05 * true), name


def test_derivatives_of_the_residuals_by_friction_are_those_of_differences():
    params = PLANT._replace(cart_friction=MU, joint_friction=0.02)
    record, names = ours(params, h=0.002), ("cart.friction", "joint.friction", "cart.damping")
    system, scale = spherical_pendulum.build(params), np.full(4, 1e-3)
    segments = plant_fit._cut([record], 1.0, 0.05)[:3]
    problem = plant_fit._Problem([record], system, names, segments, scale)
    at = np.array([MU, 0.02, 1.2])
    exact = problem.jacobian(at)
    starts = [segment.S[0].copy() for segment in segments]

    def moved(p):
        for segment, start in zip(segments, starts):
            segment.S[0] = start
        return problem.residuals(at + p)

    numeric = jacobian(moved, np.zeros(3), step=1e-3).value
    for i in range(3):
        size = np.abs(exact[:, i]).max()  # what projection leaves out is as large as the noise
        assert np.abs(numeric[:, i] - exact[:, i]).max() < 0.03 * size, names[i]


def test_a_rod_that_swings_out_shows_the_friction_of_its_joint(tmp_path):
    """L phi'' = -g sin phi and both frictions of the joint, by SciPy, without velocities."""
    L, d, mu = 0.0985, 0.02, 0.004 / (0.15 * 0.074 * 0.0985)  # mu: 0.004 N m over J

    def rate(_, y):
        rub = d * y[1] + 0.05 * mu * math.tanh(y[1] / 1e-4)
        return y[1], -9.81 / L * math.sin(y[0]) - rub

    t = np.arange(0.0, 20.0, 0.005)
    phi = solve_ivp(rate, (0.0, t[-1]), (0.8, 0.0), "LSODA", t, rtol=1e-9, atol=1e-11).y[0]
    phi = np.pi + phi + np.random.default_rng(0).normal(0.0, 1e-3, len(t))
    file, out = tmp_path / "decay.csv", tmp_path / "fit.json"
    with open(file, "w", newline="") as stream:
        csv.writer(stream).writerows([("t", "pitch"), *zip(t.tolist(), phi.tolist())])
    words = ["--set", "rod.mass=0.15", "--set", "rod.center_of_mass=0.074", "--json", str(out)]
    assert main(["identify", str(file), *words]) == 0
    found = json.loads(out.read_text())["parameters"]
    J = 0.15 * 0.074 * found["rod.equivalent_length"]["value"]
    assert found["rod.equivalent_length"]["value"] == pytest.approx(L, rel=1e-3)
    rows = found["joint.friction"], found["joint.damping"]
    for row, true in zip(rows, (0.05 * mu, 0.02)):
        assert row["value"] / J == pytest.approx(true, abs=1.5 * row["interval"] / J)
    assert rows[0]["interval"] < 0.15 * rows[0]["value"]


@pytest.mark.parametrize("h", [0.002, 0.004, 0.01])
def test_the_length_of_a_free_decay_does_not_depend_on_the_period(h):
    """The steps of the fit are shorter than those of the record; of the record's own 4 ms the
    length was wrong by 2e-4, more than its interval. The noise is a thousandth of a usual one.
    """
    L, d = 0.0985, 0.05
    t = np.arange(0.0, 8.0, h)
    y = solve_ivp(
        lambda _, y: (y[1], 9.81 / L * math.sin(y[0]) - d * y[1]),
        (0.0, t[-1]), (np.pi + 0.6, 0.0), t_eval=t, rtol=1e-10, atol=1e-12,
    ).y[0]  # fmt: skip
    half = 0.5 * (y + 1e-6 * np.random.default_rng(0).standard_normal(len(t)))
    zero, n = np.zeros(len(t)), len(t)
    q = np.column_stack((np.cos(half), zero, np.sin(half), zero))
    v = np.column_stack((zero, zero, zero, np.gradient(y, h), zero))
    record = records.MotionRecord(h, np.zeros((n, 2)), q, v, np.zeros((n - 1, 2)), held=True)
    known = spherical_pendulum.build(
        Params(rod_mass=0.15, rod_length=0.148, rod_center_of_mass=0.074)
    )
    found = plant_fit.fit([record], known, plant_numbers.DECAY).given
    assert found["rod.equivalent_length"] == pytest.approx(L, rel=2e-5)
    assert found["joint.damping"] == pytest.approx(d * 0.15 * 0.074 * L, rel=2e-3)


def test_a_force_that_breaks_nothing_loose_is_said():
    """The rod hangs, so that no law is needed; the cart creeps under less than its friction."""
    params, n = PLANT._replace(cart_friction=9.0), round(5.0 / H)
    wave = excitation.build(0.1, 5.0, H, 4.0, 3, 12.0).sample(H)
    force = np.column_stack((wave[:n], np.zeros(n)))

    class Played:
        at = -1

        def command(self, t, state, reference):
            self.at += 1
            return force[self.at]

    start = spherical_pendulum.upright(math.pi - 0.3)
    method = select.select("quaternion_midpoint")
    run = closed_loop.run(
        params, method, Played(), start, n * H, H, closed_loop.Conditions(step=5e-4)
    )
    record = records.MotionRecord(H, run.q[:, :2], run.q[:, 2:], run.v, force)
    known = spherical_pendulum.build(params)
    with pytest.raises(plant_fit.NotFitted, match="never breaks the cart loose: it creeps with"):
        plant_fit.fit([record], known, ("cart.friction", "cart.damping"))


def test_a_plane_that_tilts_is_not_fitted_with_friction():
    record = records.MotionRecord(
        H, np.zeros((5000, 2)), np.tile((1.0, 0, 0, 0), (5000, 1)), np.zeros((5000, 5)),
        np.ones((4999, 2)),
    )  # fmt: skip
    with pytest.raises(ValueError, match=r"tilt.roll and tilt.pitch are fitted to a cart without"):
        plant_fit.fit([record], KNOWN, ("cart.friction", "tilt.roll"))
