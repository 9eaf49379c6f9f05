"""Models with contacts against results of the textbooks: the falling rod, the tippe top, a house
of two cards, the semicircular arch.
"""

import numpy as np
import pytest
from scipy.optimize import brentq

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies import shapes
from rbdyn_ros.bodies.description import scene
from rbdyn_ros.geometry import quaternion

G = 9.81


def advance(model, h, n):
    """(q, v) after n steps that are all taken."""
    assert models.advance(model, h, n) == n, models.failure(model)
    return models.state(model)


def check_stands(model, n, stands, still):
    """After n steps everything is where it was, at velocities below `still`, or has fallen."""
    start = models.state(model)[0]
    q, v = advance(model, 1e-3, n)
    if stands:
        assert np.abs(v).max() < still and np.abs(q - start).max() < 1e-9
    else:
        assert np.abs(q - start)[:, :3].max() > 1e-2


def tilted_rod(tilt, **law):
    """A rod of 1 kg and 1 m on its lower end, tilted about y."""
    turn = tuple(quaternion.exp((0.0, tilt, 0.0)))
    center = (0.5 * np.sin(tilt), 0.0, 0.5 * np.cos(tilt))
    rod = shapes.Body(1.0, (1.0 / 12.0, 1.0 / 12.0, 1e-3), center, turn)
    return scene.build(
        scene.Scene(
            {"rod": rod},
            geoms={
                "foot": scene.Geom("point", "rod", (), (0.0, 0.0, -0.5)),
                "floor": scene.plane(),
            },
            contacts={"stands": scene.Contact(("foot", "floor"), **law)},
        )
    )


def test_rod_that_falls_on_ice_turns_as_its_energy_says():
    """On a floor without friction the center falls straight down, and
    w^2 (1/12 + sin^2/4) = g (cos t_0 - cos t).
    """
    start = np.radians(5.0)
    errors = []
    for h in (2e-3, 1e-3):
        model = tilted_rod(start)
        q, v = advance(model, h, round(0.5 / h))
        z, w = q[0, 2], v[0, 4]
        tilt = np.arccos(2.0 * z)
        exact = np.sqrt(G * (np.cos(start) - np.cos(tilt)) / (1 / 12 + 0.25 * np.sin(tilt) ** 2))
        assert tilt > 1.0 and abs(q[0, 0] - 0.5 * np.sin(start)) < 1e-12
        errors.append(abs(w - exact))
    assert errors[1] < 1e-5 and np.log2(errors[0] / errors[1]) == pytest.approx(2.0, abs=0.2)


@pytest.mark.parametrize("mu", [0.3, 0.6])
def test_foot_of_a_falling_rod_slips_at_its_angle(mu):
    """While the foot stays, N = m g (3 cos t - 1)^2 / 4 and F = 3/4 m g sin t (3 cos t - 2), for a
    rod that starts upright; it slips where |F| = mu N: backward at once for a small mu, forward
    later for a larger one.
    """

    def excess(tilt):
        c, s = np.cos(tilt), np.sin(tilt)
        return abs(3.0 * s * (3.0 * c - 2.0)) - mu * (3.0 * c - 1.0) ** 2

    tilts = np.linspace(0.01, 1.2, 2000)
    first = np.argmax([excess(tilt) > 0.0 for tilt in tilts])
    slips = brentq(excess, tilts[first - 1], tilts[first])
    start, h = 1e-3, 1e-3
    model = tilted_rod(start, friction=mu)
    for _ in range(5000):
        q, v = advance(model, h, 1)
        tilt = 2.0 * np.arctan2(q[0, 5], q[0, 3])
        foot = q[0, 0] - 0.5 * np.sin(tilt)
        if abs(foot) > 1e-9:
            break
    assert tilt == pytest.approx(slips, abs=0.01), (np.degrees(tilt), np.degrees(slips))
    assert (foot < 0.0) == (mu == 0.3)


RADIUS, OFF = 0.02, 0.006  # [m] of the shell, and its center over the center of mass
INERTIA = tuple(0.02 * RADIUS**2 * np.array([0.4, 0.4, 0.42]))
GROUNDS = {
    "plane": scene.plane(),
    "box": scene.Geom("box", size=(0.6, 0.6, 0.2), position=(0.0, 0.0, -0.1)),
    "sphere": scene.Geom("sphere", size=(0.5,), position=(0.0, 0.0, -0.5)),
}


def top(ground, mu, tilt):
    """A sphere whose center of mass is below its center, spinning about its axis."""
    turn = tuple(quaternion.exp((0.0, tilt, 0.0)))
    axis = quaternion.rotate(np.array(turn), np.array([0.0, 0.0, 1.0]))
    at = np.array([0.0, 0.0, RADIUS]) - OFF * axis
    body = shapes.Body(0.02, INERTIA, tuple(at), turn, angular_velocity=(0.0, 0.0, 150.0))
    shell = scene.Geom("sphere", "top", (RADIUS,), (0.0, 0.0, OFF))
    return scene.build(
        scene.Scene(
            {"top": body},
            geoms={"shell": shell, "ground": GROUNDS[ground]},
            contacts={"spins": scene.Contact(("shell", "ground"), friction=mu)},
        )
    )


def spin(model):
    """(Jellett's integral, height of the axis, velocity of the contact) on a plane."""
    q, v = models.state(model)
    e3 = quaternion.rotate(q[0, 3:], np.array([0.0, 0.0, 1.0]))
    momentum = quaternion.rotate(q[0, 3:], np.array(INERTIA) * v[0, 3:])
    lever = OFF * e3 - np.array([0.0, 0.0, RADIUS])
    slip = v[0, :3] + np.cross(quaternion.rotate(q[0, 3:], v[0, 3:]), lever)
    return momentum @ lever, e3[2], np.linalg.norm(slip)


def test_tippe_top_turns_over_and_keeps_jelletts_integral():
    """L . (from the center of mass to the contact) stays, whatever the friction (Jellett), while
    friction turns the heavy end up.
    """
    model = top("plane", 0.05, 0.3)
    models.observe(model)
    seen, energies = [spin(model)], [models.energy(model)]
    for _ in range(100):
        advance(model, 2e-4, 400)
        seen.append(spin(model))
        energies.append(models.energy(model))
    integral, height, _ = np.array(seen).T
    assert np.abs(integral / integral[0] - 1.0).max() < 1e-9
    assert height[0] > 0.9 and height[-1] < -0.9, height
    assert np.diff(energies).max() < 1e-7 * abs(energies[0])


@pytest.mark.parametrize("ground", list(GROUNDS))
def test_top_that_rolls_while_it_spins_loses_nothing(ground):
    """Friction does no work at a contact that rolls, though other points touch at every step."""
    model = top(ground, 1.0, 0.1)
    advance(model, 1e-4, 800)  # it slips at first
    before = models.energy(model)
    advance(model, 1e-4, 3200)
    assert abs(models.energy(model) / before - 1.0) < 1e-6
    if ground == "plane":
        assert spin(model)[2] < 1e-13


def card_house(share):
    """Two cards that lean against each other; the table has a share of the friction they need."""
    lean, length, thick = np.radians(20.0), 0.09, 1e-3
    mu = share * 0.5 * np.tan(lean)
    bodies, geoms, contacts = {}, {"table": scene.plane()}, {}
    for name, side in (("left", -1.0), ("right", 1.0)):
        turn = np.array(quaternion.exp((0.0, -side * lean, 0.0)))
        # the upper inner edges meet at x = 0
        edge = quaternion.rotate(turn, np.array([-side * 0.5 * thick, 0.0, 0.5 * length]))
        lowest = quaternion.rotate(turn, np.array([-side * 0.5 * thick, 0.0, -0.5 * length]))
        at = (-edge[0], 0.0, -lowest[2])
        card = shapes.box((thick, 0.06, length), mass=2e-3, position=at, orientation=tuple(turn))
        bodies[name] = card
        geoms[name] = scene.Geom("box", name, (thick, 0.06, length))
        contacts[f"{name}_table"] = scene.Contact((name, "table"), friction=mu)
    contacts["ridge"] = scene.Contact(("left", "right"), friction=1.0)
    return scene.build(scene.Scene(bodies, geoms=geoms, contacts=contacts))


@pytest.mark.parametrize("share, stands", [(1.1, True), (0.9, False)])
def test_house_of_two_cards_stands_if_friction_bears_it(share, stands):
    """Two cards that lean at an angle a to the vertical need mu >= tan(a)/2 on the table."""
    model = card_house(share)
    check_stands(model, 300, stands, 1e-10)


def arch(count, thick, mu):
    """A semicircular arch of `count` wedges, its center line of radius 1, on two fixed
    springers.
    """
    step = np.pi / count
    bodies, geoms, contacts = {}, {}, {}
    inner, outer, deep = 1.0 - 0.5 * thick, 1.0 + 0.5 * thick, 0.2
    area = 0.5 * step * (outer**2 - inner**2)
    # of a sector of a ring, about its center of mass
    middle = (2.0 / 3.0) * (outer**3 - inner**3) * np.sin(0.5 * step) / area
    polar = 0.25 * step * (outer**4 - inner**4) - area * middle**2
    for k in range(count):
        at = np.pi - (k + 0.5) * step
        # axis 1 of a wedge is radial, axis 2 along the barrel
        radial = np.array([np.cos(at), 0.0, np.sin(at)])
        turn = np.array(quaternion.exp((0.0, -at, 0.0)))
        inertia = (polar, polar, polar)
        body = shapes.Body(area, inertia, tuple(middle * radial), tuple(turn))
        bodies[f"stone_{k}"] = body
        for side in (-1.0, 1.0):  # faces at +-step/2; the tangent axis 3 points to larger angles
            normal = np.array([-np.sin(0.5 * step), 0.0, side * np.cos(0.5 * step)])
            for j, (r, y) in enumerate((r, y) for r in (inner, outer) for y in (-deep, deep)):
                c, s = np.cos(0.5 * step), side * np.sin(0.5 * step)
                point = np.array([r * c - middle, y, r * s])
                word = "after" if side < 0.0 else "before"
                geoms[f"{word}_{k}_{j}"] = scene.Geom("point", f"stone_{k}", (), tuple(point))
            if side < 0.0:
                geoms[f"face_{k}"] = scene.plane(tuple(normal), (-middle, 0.0, 0.0), f"stone_{k}")
    geoms["ground"] = scene.plane()
    for k in range(count):
        for j in range(4):
            if k > 0:  # its face toward the stone before it
                other = f"face_{k - 1}"
                pair = (f"before_{k}_{j}", other)
                contacts[f"joint_{k}_{j}"] = scene.Contact(pair, friction=mu)
            if k == 0:
                contacts[f"left_{j}"] = scene.Contact((f"before_{k}_{j}", "ground"), friction=mu)
            if k == count - 1:
                contacts[f"right_{j}"] = scene.Contact((f"after_{k}_{j}", "ground"), friction=mu)
    return scene.build(scene.Scene(bodies, geoms=geoms, contacts=contacts))


@pytest.mark.parametrize("thick, stands", [(0.13, True), (0.08, False)])
def test_semicircular_arch_stands_if_it_is_thick_enough(thick, stands):
    """Of its own weight an arch stands from t / R = 0.1075 on (Heyman, Milankovitch), if nothing
    slides.
    """
    model = arch(11, thick, 0.8)
    check_stands(model, 500, stands, 1e-9)
