"""The plant in CasADi, and a law that plans with it: nonlinear model predictive control.

`python casadi_mpc.py` catches the rod from ten degrees.

Needs casadi (`pip install casadi`). As a law: `python -m rbdyn_ros simulate --controller
examples/casadi_mpc.py`. A plan takes one or two steps of sequential quadratic programming from the
plan before it, three to seven milliseconds (the idea of the real-time iteration: Diehl, Bock,
Schloeder, SIAM J. Control Optim. 43 (2005) 1714). The law waits for it, so for real time give it a
period of its own, or take the law `mpc` of the package.
"""

import math
from typing import NamedTuple

import casadi
import numpy as np


class Options(NamedTuple):
    """The options of the planner; a node or a parameter file sets them as casadi_mpc.horizon,
    ...
    """

    horizon: int = 20  # intervals that are planned
    interval: float = 0.1  # [s] for which a planned force is held
    replan: float = 0.05  # [s] between two plans
    iterations: int = 2  # of the sequential quadratic program, at most, for a plan
    force_limit: float = 20.0  # [N]
    travel: float = 2.0  # [m] of the cart to each side


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


def planner(system, options: Options) -> casadi.Function:
    """Return the solver that plans from the parameters p (13,): a state (11,) and the position
    (2,) [m] over which to stand.

    minimize  sum over k of |r(s_k)|^2 + 0.1 |u_k|^2 + 20 |r(s_N)|^2
    s_0 = s,  s_{k+1} = s_k + h f((s_k + s_{k+1}) / 2, u_k),  u_k within +- force_limit

    The unknowns are s_0, u_0, s_1, ..., s_N. The implicit midpoint rule costs no more here than an
    explicit one, and is stable where the joint stops the spin of a thin rod within h. Where the
    sum of squares is |F|^2, its Hessian is taken as 2 F'^T F' (Gauss-Newton), never indefinite.
    """
    s, u, aim = casadi.SX.sym("s", 11), casadi.SX.sym("u", 2), casadi.SX.sym("aim", 2)
    rate = casadi.Function("rate", [s, u], [derivative(system, s, u)])
    h, N = options.interval, options.horizon
    # horizontal part of the rod's axis
    lean = 2 * casadi.vertcat(s[3] * s[5] + s[2] * s[4], s[4] * s[5] - s[2] * s[3])
    # of the last tenth of the travel
    beyond = casadi.fmax(casadi.sumsqr(s[:2]) / options.travel**2 - 0.8, 0)
    parts = 40, s[:2] - aim, 10, s[6:8], 100, lean, 10, s[8:10], 1000, beyond
    weighted = [math.sqrt(weight) * part for weight, part in zip(parts[::2], parts[1::2])]
    residual = casadi.Function("residual", [s, aim], [casadi.vertcat(*weighted)])

    p, states, forces = (casadi.SX.sym(*of) for of in (("p", 13), ("s", 11, N + 1), ("u", 2, N)))
    x = casadi.vertcat(casadi.vec(casadi.vertcat(states[:, :-1], forces)), states[:, -1])
    along = residual.map(N + 1)(states, casadi.repmat(p[11:], 1, N + 1))
    F = casadi.vertcat(
        casadi.vec(along), math.sqrt(19) * along[:, -1], math.sqrt(0.1) * casadi.vec(forces)
    )
    now, then = states[:, :-1], states[:, 1:]
    gaps = now + h * rate.map(N)((now + then) / 2, forces) - then
    g = casadi.vertcat(states[:, 0] - p[:11], casadi.vec(gaps))
    J, lam_f, lam_g = casadi.jacobian(F, x), casadi.SX.sym("f"), casadi.SX.sym("g", g.shape[0])
    hessian = casadi.Function(
        "hessian",
        [x, p, lam_f, lam_g],
        [2 * lam_f * casadi.mtimes(J.T, J)],
        ["x", "p", "lam_f", "lam_g"],
        ["hess_gamma_x_x"],
    )
    silent = {"print_header": False, "print_iter": False, "print_info": False}
    solver = {
        "hess_lag": hessian,
        "max_iter": options.iterations,  # the last iterate is used: a plan must come in time
        "max_iter_ls": 0,
        "tol_pr": 1e-3,
        "tol_du": 1e-3,
        "qpsol": "qrqp",
        "qpsol_options": {**silent, "max_iter": 100, "error_on_fail": False},
        "error_on_fail": False,
        "print_header": False,
        "print_iteration": False,
        "print_status": False,
        "print_time": False,
    }
    return casadi.nlpsol(
        "plan", "sqpmethod", {"x": x, "p": p, "f": casadi.sumsqr(F), "g": g}, solver
    )


class CasadiMpc:
    """A law that plans every `replan` seconds, and holds the plan's first force until then."""

    def __init__(self, system, options: Options):
        self.options, self.plan = options, planner(system, options)
        free, limit = np.full(11, math.inf), np.full(2, options.force_limit)
        self.bound = np.concatenate(
            (np.tile(np.concatenate((free, limit)), options.horizon), free)
        )
        self.reset()

    def command(self, t, state, reference):
        """Return the force on the cart (2,) [N, world]. Raise ValueError if there is no plan."""
        if not self.planned <= t < self.planned + self.options.replan - 1e-9:
            s = np.concatenate((state.q, state.v))
            if not self.guess:
                stay = np.concatenate((s, np.zeros(2)))
                self.guess = {"x0": np.concatenate((np.tile(stay, self.options.horizon), s))}
            p, bound = np.concatenate((s, reference)), self.bound
            found = self.plan(**self.guess, p=p, lbx=-bound, ubx=bound, lbg=0, ubg=0)
            u = np.array(found["x"][11:13]).ravel()
            if not np.isfinite(u).all():
                self.reset()
                raise ValueError("no plan from this state")
            self.guess = {"x0": found["x"], "lam_x0": found["lam_x"], "lam_g0": found["lam_g"]}
            self.force = u * min(1.0, self.options.force_limit / max(np.hypot(*u), 1e-300))
            self.planned = t
        return self.force

    def reset(self):
        """Forget the plan: the next command plans anew."""
        self.planned, self.force, self.guess = math.inf, np.zeros(2), {}


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
