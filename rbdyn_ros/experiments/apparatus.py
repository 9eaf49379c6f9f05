"""The machines and starts of the notebook "Geometric Discrete Variational Dynamics", and its
scheme in three forms; sampled runs of its pendulum, the quantities that the experiments
take from them, and their drawing.
"""

from typing import NamedTuple

import numpy as np

from rbdyn_ros.evaluation.metrics import axis
from rbdyn_ros.experiments import free_body
from rbdyn_ros.experiments.outcome import METHOD_COLORS, METHOD_LABELS
from rbdyn_ros.figures import GREY
from rbdyn_ros.integrators import pitch_cone_chart, tqdl
from rbdyn_ros.integrators.select import Integrator, select
from rbdyn_ros.pendulum.spherical_pendulum import Params, build, cylinder_inertia, no_input
from rbdyn_ros.plant import rollout
from rbdyn_ros.types import Array, Input, State, System

GRAVITY = 9.81  # [m/s^2]
HALF_LENGTH = 1.2  # [m] of the rod, joint to center of mass
PITCH, CONE = np.radians((10.0, 5.0))  # [rad] where the notebook's pendulum starts
FREQUENCY = np.sqrt(GRAVITY / HALF_LENGTH)  # [rad/s] of small swings of a point mass there
IDENTITY = (1.0, 0.0, 0.0, 0.0)


def dzhanibekov() -> tuple[System, State]:
    """Return (System, State) of the body about its intermediate axis, with the attitude and the
    velocity of the notebook's unit test.
    """
    a = np.pi / 8.0
    return free_body.build(free_body.DZHANIBEKOV), free_body.turning_state(
        (np.cos(a), 0.0, np.sin(a), 0.0), (6.0, 0.01, 0.0)
    )


def cylinder() -> System:
    """Return the top of the forced motion: 5 kg, height and radius 0.5 m."""
    return free_body.build(cylinder_inertia(5.0, 0.5, 0.5), 5.0)


def long_rod() -> System:
    """Return the rod of the forced motion: 5 kg, 2.4 m, radius 2 cm (the notebook gives it the
    cylinder's inertia).
    """
    return free_body.build(cylinder_inertia(5.0, 2.4, 0.02), 5.0)


def torque(x: float, y: float, z: float) -> Input:
    """Return an input with only a constant torque [N m, world]."""
    return no_input()._replace(disturbance=np.array([0.0, 0.0, 0.0, x, y, z, 0.0, 0.0, 0.0]))


def pendulum(cart_mass: float = 0.0, **params) -> System:
    """Return the notebook's rod (1 kg, 2.4 m, radius 2 cm) on a cart of `cart_mass` [kg], massless
    as in the notebook.
    """
    return build(Params(gravity=GRAVITY, cart_mass=cart_mass, **params))


def point_mass() -> System:
    """Return a point mass of 1 kg at 1.2 m from a fixed joint; its own inertia is negligible."""
    speck = 1e-12  # [kg m^2] 0 would leave the spin without inertia
    return build(
        Params(
            gravity=GRAVITY,
            cart_fixed=True,
            rod_center_of_mass=HALF_LENGTH,
            rod_inertia=(speck,) * 3,
        )
    )


def leaning_state(pitch: float = PITCH, cone: float = CONE) -> State:
    """Return the state at rest at the pitch-cone angles [rad]."""
    Q, w = pitch_cone_chart.to_state(pitch, cone, 0.0, 0.0)
    return State(0.0, np.array([0.0, 0.0, *Q]), np.array([0.0, 0.0, *w]))


def notebook_scheme(coupling: int = tqdl.STALE) -> Integrator:
    """Return `tqdl`, its two halves coupled by `coupling`: STALE, FROZEN or COUPLED."""
    return select("tqdl")._replace(
        options=lambda system: tqdl.Options(coupling, np.full(3, np.nan))
    )


def integrator(method: str) -> Integrator:
    """Return the stepper of that name; for `tqdl` the notebook's scheme."""
    return notebook_scheme() if method == "tqdl" else select(method)


def pseudo_energy(system: System, q, v) -> np.ndarray:
    """Return w.I w/2 + m g l k_3 (n,) [J], the energy of the notebook's model, a rod turning about
    its center of mass.
    """
    k3 = 1.0 - 2.0 * (q[:, 3] ** 2 + q[:, 4] ** 2)
    return (
        0.5 * (v[:, 2:] ** 2) @ np.array(system.inertia)
        + system.rod_mass * system.gravity * system.center * k3
    )


def simulate(
    integrator: Integrator,
    system: System,
    state: State,
    h: float,
    duration: float,
    every: float,
) -> rollout.Rollout:
    """Simulate the pendulum for `duration` [s] in steps of h, with a row every `every` [s]; it may
    end early (`ok`).
    """
    return rollout.run(
        integrator,
        system,
        state,
        no_input(),
        h,
        round(duration / every),
        round(every / h),
    )


class Conservation(NamedTuple):
    """The largest errors of the conserved quantities, and the slope of the energy's straight-line
    fit.
    """

    energy: float  # [J]
    trend: float  # [J/s]
    vertical_momentum: float  # Lz [kg m^2/s]
    horizontal_momentum: float  # |P| [kg m/s], 0 for a fixed cart
    spin_momentum: float  # p3 [kg m^2/s]
    iterations: float  # per step


def conservation(record: rollout.Rollout, system: System, steps_per_row: int) -> Conservation:
    """Return the errors of energy and momenta in the run. On a fixed cart the joint is at the
    origin.
    """
    error = np.abs(record.quantities - record.quantities[0])
    trend = np.polyfit(record.t, record.quantities[:, 0], 1)[0]
    P = error[:, 2:4].max() * system.cart_free
    return Conservation(
        error[:, 0].max(),
        abs(trend),
        error[:, 1].max(),
        P,
        error[:, 4].max(),
        record.iterations[1:].mean() / steps_per_row,
    )


def plane_angle(q: Array) -> Array:
    """Return the tilt from the upright towards +x, unwrapped (n,) [rad], of a rod that stays in
    the plane y = 0.
    """
    n = axis(q)
    return np.unwrap(np.arctan2(n[:, 0], n[:, 2]))


def first(t: Array, condition: Array) -> float:
    """Return the first time at which the condition holds, nan if never."""
    rows = np.flatnonzero(condition)
    return float(t[rows[0]]) if rows.size else np.nan


def largest_so_far(error: Array) -> Array:
    """Return the largest |error| up to the end of each hundredth of the run (100,)."""
    return np.maximum.accumulate([np.abs(span).max() for span in np.array_split(error, 100)])


TAIL = 200  # rows of the tip's trace
SQUARE = 0.25 * np.array([[-1, -1], [1, -1], [1, 1], [-1, 1], [-1, -1]])


def empty_line(axes, *marker: str, **look):
    """Return a line in space that has no points yet."""
    return axes.plot([], [], [], *marker, **look)[0]


class PendulumScene:
    """Axes with a floor, a cart, a rod and the trace of its tip."""

    def __init__(self, axes, name: str):
        color = METHOD_COLORS[name]
        axes.set(xlim=(-2, 2), ylim=(-2, 2), zlim=(-2.4, 2.4), xticks=(), yticks=(), zticks=())
        axes.set_box_aspect((1, 1, 1.2), zoom=1.35)
        axes.set_axis_off()
        axes.view_init(elev=14, azim=-70)
        axes.set_title(METHOD_LABELS[name], color=color)
        x, y = np.meshgrid((-2.0, 2.0), (-2.0, 2.0))
        axes.plot_surface(x, y, 0.0 * x, color="#e8e4d8", alpha=0.35)
        self.cart = empty_line(axes, color=GREY, linewidth=2)
        self.rod = empty_line(axes, color=color, linewidth=4, solid_capstyle="round")
        self.trace = empty_line(axes, color=color, linewidth=1, alpha=0.5)
        self.clock = axes.text2D(0.05, 0.03, "", transform=axes.transAxes, fontsize=9)

    def show(self, t: float, q: np.ndarray) -> None:
        """Draw the last row of q (n, 6), with the trace of the tip."""
        joint = np.column_stack([q[-TAIL:, :2], np.zeros(len(q[-TAIL:]))])
        tip = joint + 2.0 * HALF_LENGTH * axis(q[-TAIL:])
        corners = SQUARE + q[-1, :2]
        self.cart.set_data_3d(*corners.T, np.zeros(5))
        self.rod.set_data_3d(*np.stack([joint[-1], tip[-1]]).T)
        self.trace.set_data_3d(*tip.T)
        self.clock.set_text(f"t = {t:5.2f} s")
