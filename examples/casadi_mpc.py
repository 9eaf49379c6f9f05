"""The plant in CasADi, and a law that plans with it by do-mpc.

`python casadi_mpc.py` catches the rod from ten degrees.

Needs casadi and do-mpc (`pip install casadi do-mpc`). As a law: `python -m rbdyn_ros simulate
--controller examples/casadi_mpc.py`; a plan takes 10 to 50 ms, so it is slow: for real time give
it a period of its own, or take the law `mpc` of the package.
"""

import contextlib
import math
import os
from typing import NamedTuple

import casadi
import do_mpc
import numpy as np

# q (6,), v (5,) of `rbdyn_ros.types.State`
STATES = (
    "x",
    "y",
    "qw",
    "qx",
    "qy",
    "qz",
    "vx",
    "vy",
    "wx",
    "wy",
    "wz",
)


class Options(NamedTuple):
    """The options of the planner; a node or a parameter file sets them as casadi_mpc.horizon,
    ...
    """

    horizon: int = 20  # intervals that are planned
    interval: float = 0.05  # [s] for which a planned force is held
    replan: float = 0.02  # [s] between two plans
    force_limit: float = 20.0  # [N]
    iterations: int = 50  # of IPOPT, at most, for a plan


def derivative(system, s, u):
    """Return ds/dt (11,) of the state s (11,) under the cart force u (2,) [N]: (1.7) and (1.8) of
    doc/mathematics.md, solved as one linear system.

    `system` is `model.build(params)`. The function works on numbers, on SX and on MX.
    """
    m, l, I = system.rod_mass, system.center, system.inertia
    w, x, y, z = (s[i] for i in range(2, 6))
    velocity, omega = s[6:8], s[8:11]
    R = casadi.vertcat(
        casadi.horzcat(1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)),
        casadi.horzcat(2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)),
        casadi.horzcat(2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)),
    )
    c = casadi.DM([0, 0, l])
    J = casadi.DM(np.diag((I[0] + m * l * l, I[1] + m * l * l, I[2])))
    # of the cart's acceleration into the torque about the joint
    coupling = m * casadi.mtimes(casadi.skew(c), R.T)[:, :2]
    mass = casadi.vertcat(
        casadi.horzcat((system.cart_mass + m) * casadi.DM.eye(2), coupling.T),
        casadi.horzcat(coupling, J),
    )
    weight = -m * system.gravity * casadi.cross(c, R[2, :].T)
    torque = weight - system.joint_damping * omega - casadi.cross(omega, casadi.mtimes(J, omega))
    swing = m * casadi.mtimes(R, casadi.cross(omega, casadi.cross(omega, c)))[:2]
    force = u - system.cart_damping * velocity - swing
    acceleration = casadi.solve(mass, casadi.vertcat(force, torque))
    turn = 0.5 * casadi.vertcat(
        -x * omega[0] - y * omega[1] - z * omega[2],
        w * omega[0] + y * omega[2] - z * omega[1],
        w * omega[1] + z * omega[0] - x * omega[2],
        w * omega[2] + x * omega[1] - y * omega[0],
    )
    return casadi.vertcat(velocity, turn, acceleration)


def planner(system, options: Options, aim: np.ndarray) -> do_mpc.controller.MPC:
    """Return do-mpc's controller for the plant: stand over `aim` (2,) [m], which may be changed in
    place, within the force limit.
    """
    model = do_mpc.model.Model("continuous", "SX")
    s, u = model.set_variable("_x", "s", (11, 1)), model.set_variable("_u", "u", (2, 1))
    model.set_variable("_tvp", "reference", (2, 1))
    model.set_rhs("s", derivative(system, s, u))
    model.setup()
    s, reference = model.x["s"], model.tvp["reference"]  # do-mpc makes new symbols in `setup`
    # horizontal part of the rod's axis
    lean = casadi.vertcat(2 * (s[3] * s[5] + s[2] * s[4]), 2 * (s[4] * s[5] - s[2] * s[3]))
    cost = (
        40 * casadi.sumsqr(s[:2] - reference)
        + 10 * casadi.sumsqr(s[6:8])
        + 100 * casadi.sumsqr(lean)
        + 10 * casadi.sumsqr(s[8:10])
    )
    mpc = do_mpc.controller.MPC(model)
    mpc.settings.n_horizon, mpc.settings.t_step, mpc.settings.store_full_solution = (
        options.horizon,
        options.interval,
        False,
    )
    mpc.settings.supress_ipopt_output()
    # the last iterate is used: a plan must come in time
    mpc.settings.nlpsol_opts["ipopt.max_iter"] = options.iterations
    mpc.set_objective(lterm=cost, mterm=20 * cost)
    mpc.set_rterm(u=0.01)
    mpc.bounds["lower", "_u", "u"], mpc.bounds["upper", "_u", "u"] = (
        -options.force_limit,
        options.force_limit,
    )
    template = mpc.get_tvp_template()

    def aimed(_):
        template["_tvp", :, "reference"] = aim
        return template

    mpc.set_tvp_fun(aimed)
    mpc.setup()
    return mpc


class CasadiMpc:
    """A law that plans every `replan` seconds, and holds the plan's first force until then."""

    def __init__(self, system, options: Options):
        self.options, self.aim = options, np.zeros(2)
        self.mpc = planner(system, options, self.aim)
        self.reset()

    def command(self, t, state, reference):
        """Return the force on the cart (2,) [N, world]."""
        if not self.planned <= t < self.planned + self.options.replan - 1e-9:
            s = np.concatenate((state.q, state.v))
            self.aim[:] = reference
            if self.planned == math.inf:
                self.mpc.x0 = s
                self.mpc.set_initial_guess()
            with open(os.devnull, "w") as silent, contextlib.redirect_stdout(silent):
                u = self.mpc.make_step(s.reshape(-1, 1)).ravel()
            self.force = u * min(1.0, self.options.force_limit / max(np.hypot(*u), 1e-300))
            self.planned = t
        return self.force

    def reset(self):
        """Forget the plan: the next command plans anew."""
        self.planned, self.force = math.inf, np.zeros(2)


def design(model, params, options):
    return CasadiMpc(model.build(params), options)


def main() -> None:
    """Simulate four seconds from ten degrees, and print tilt and cart."""
    from rbdyn_ros.integrators.select import select
    from rbdyn_ros.pendulum import spherical_pendulum as model
    from rbdyn_ros.plant import closed_loop

    params = model.Params(cart_damping=0.5, joint_damping=0.005)
    law, start = design(model, params, Options()), model.upright(math.radians(10.0), 0.4)
    patient = closed_loop.Conditions(call_timeout=60.0)
    run = closed_loop.run(params, select("rk4"), law, start, 4.0, 0.01, patient)
    lean = 2.0 * np.degrees(np.hypot(run.q[:, 3], run.q[:, 4]))
    for i in range(0, len(run.t), 50):
        print(
            f"{run.t[i]:3.1f} s  tilt {lean[i]:5.2f} deg  cart {run.q[i, 0]:+.3f} "
            f"{run.q[i, 1]:+.3f} m"
        )
    print(run.fault or f"at the end the rod leans by {lean[-1]:.2f} deg")


if __name__ == "__main__":
    main()
