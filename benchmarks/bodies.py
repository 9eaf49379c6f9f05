"""Compare several bodies with joints and contacts with MuJoCo's mj_step on the same scene, step
and integrator class.

    python benchmarks/bodies.py [--json FILE] [--quick] [--peers]

MuJoCo runs Euler with elliptic cones and Newton's method. Each measurement of ours is followed by
one of mj_step, both from the same state; the ratio is the median over such pairs. Beside the
times: energy error of conservative scenes, opening of the joints and the deepest penetration of
both, over the steps that were timed. With --peers Drake and Siconos run the scenes that they can
run: Drake's measurements each after one of ours, Siconos once.
"""

import json
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import NamedTuple

import numpy as np
import peer_siconos_bodies as siconos
from bodies_scenes import SCENES, Scene
from command_line import read
from peer import MISSING, mujoco
from peer_drake import LEFT_OUT, Drake, Simulator
from peer_drake import MISSING as MISSING_DRAKE

from rbdyn_ros.bodies import model as models
from rbdyn_ros.bodies.description import contact_pairs, jacobian, rigid_bodies

_ROWS = """write rows {scene, step [s], ns, mj_ns, ratio_to_mj_step, energy_error,
mj_energy_error [J], opening [m], penetration, mj_penetration [m]}; the ratio is mj_step's time
over ours, more is faster; null: MuJoCo is not installed, or it does not apply; with --peers also
drake_ns, ratio_to_drake, drake_energy_error [J] and drake_penetration [m], and the same of
siconos"""
_PEERS = "run the scenes in Drake and Siconos, too, where they are installed"


def main() -> int:
    arguments = read(__doc__, _ROWS, "fewer rounds", _PEERS)
    if mujoco is None:
        print(MISSING, file=sys.stderr)
    with_drake = arguments.peers and Simulator is not None
    if arguments.peers and not with_drake:
        print(MISSING_DRAKE, file=sys.stderr)
    with_siconos = arguments.peers and siconos.is_installed(arguments.siconos_python)
    if arguments.peers and not with_siconos:
        print(siconos.MISSING, file=sys.stderr)
    peers = ["drake"] * with_drake + ["siconos"] * with_siconos
    rows = []
    print(
        f"{'scene':>16} {'ns':>9} {'mj_step':>9} {'ratio':>6}   energy error, mj [J]"
        "   opening [m]   penetration, mj [m]"
        + "     Drake  ratio   energy error [J]   penetration [m]" * with_drake
        + "   Siconos  ratio   energy error [J]   penetration [m]" * with_siconos
    )
    for name, make in SCENES.items():
        scene = make()
        drake = Drake(scene) if with_drake and name not in LEFT_OUT else None
        rows.append(row(name, scene, 3 if arguments.quick else 15, drake))
        if with_siconos and name not in siconos.LEFT_OUT:
            rows[-1] |= siconos.columns(scene, arguments.siconos_python, rows[-1]["ns"])
        print(line(rows[-1], peers), flush=True)
    print(*growth(rows), sep="\n")
    for peer, reasons in (("Drake", LEFT_OUT), ("Siconos", siconos.LEFT_OUT)):
        for name, why in reasons.items() if arguments.peers else ():
            print(f"{peer} does not run {name}: {why}.")
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + "\n")
    return 0


def growth(rows: list[dict]) -> list[str]:
    """Return the cost of a step per rod of the chains and per box of the stacks, in sentences:
    equal numbers are linear growth.
    """
    sentences = []
    for kind, member in (("chain", "rod"), ("stack", "box")):
        of_kind = [row for row in rows if row["scene"].startswith(f"{kind}_")]
        lengths = [int(row["scene"].removeprefix(f"{kind}_")) for row in of_kind]
        costs = ", ".join(f"{row['ns'] / n:.0f}" for row, n in zip(of_kind, lengths))
        counts = ", ".join(map(str, lengths))
        sentences.append(f"{kind}s of {counts}: {costs} ns for each {member}")
    return sentences


class Errors(NamedTuple):
    """The errors of a run."""

    energy: float | None
    opening: float | None
    penetration: float | None


def row(name: str, scene: Scene, rounds: int, drake: Drake | None = None) -> dict:
    """Return the medians over `rounds` pairs of measurements of one scene."""
    other = mujoco and Peer(scene)
    ours = Ours(scene)
    times, theirs, of_drake = [], [], []
    for _ in range(rounds):
        times.append(ours.seconds())
        if other:
            theirs.append(other.seconds())
        if drake:
            of_drake.append(drake.seconds())
    errors, others = ours.errors(), other.errors() if other else Errors(None, None, None)
    return {
        "scene": name,
        "step": scene.h,
        "ns": 1e9 * median(times),
        "mj_ns": 1e9 * median(theirs) if theirs else None,
        "ratio_to_mj_step": median(b / a for a, b in zip(times, theirs)) if theirs else None,
        "energy_error": errors.energy,
        "mj_energy_error": others.energy,
        "opening": errors.opening,
        "penetration": errors.penetration,
        "mj_penetration": others.penetration,
    } | (drake_columns(drake, times, of_drake) if drake else {})


def drake_columns(drake: Drake, times: list[float], theirs: list[float]) -> dict:
    """Return the columns of Drake: the least times, for its runs are so long that other processes
    interrupt them more often than ours.
    """
    energy, _, penetration = drake.errors()
    return {
        "drake_ns": 1e9 * min(theirs),
        "ratio_to_drake": min(theirs) / min(times),
        "drake_energy_error": energy,
        "drake_penetration": penetration,
    }


class Ours:
    """A scene by rbdyn_ros/bodies, after its first `settle` steps."""

    def __init__(self, scene: Scene):
        """Build the scene and take its first steps."""
        parts = scene.bodies, scene.q, scene.v, scene.constraints, scene.pairs
        self.scene, self.model = scene, models.build(*parts)
        self.advance = models.stepper(self.model)
        self.take(scene.settle)
        self.start = self.model.arena.f.copy(), self.model.arena.z.copy()

    def take(self, n: int) -> None:
        """Take n steps. Raise RuntimeError if one fails."""
        if self.advance(self.model.arena, self.scene.h, n) != n:
            raise RuntimeError(f"the scene stops: {models.failure(self.model)}")

    def reset(self) -> None:
        for numbers, start in zip(self.model.arena, self.start):
            numbers[:] = start

    def seconds(self) -> float:
        """Return the time [s] of one step, the mean of the scene's steps."""
        self.reset()
        start = perf_counter()
        self.take(self.scene.steps)
        return (perf_counter() - start) / self.scene.steps

    def errors(self) -> Errors:
        """Return the errors over the timed steps, ten of them at a time."""
        self.reset()
        rows = [self._state()]
        for _ in range(self.scene.steps // 10):
            self.take(10)
            rows.append(self._state())
        energy, opening, gap = (np.array(column) for column in zip(*rows))
        return Errors(
            float(np.abs(energy - energy[0]).max()) if self.scene.conservative else None,
            float(opening.max()) if self.scene.constraints.names else None,
            float(max(0.0, -gap.min())) if len(self.scene.pairs.kind) else None,
        )

    def _state(self) -> tuple:
        q, v = models.state(self.model)
        scene = self.scene
        opening = np.abs(jacobian.values(scene.constraints.rows, q)).max(initial=0.0)
        return (
            rigid_bodies.energy(scene.bodies, q, v),
            opening,
            contact_pairs.gaps(scene.pairs, q).min(initial=np.inf),
        )


class Peer:
    """The same scene by MuJoCo, after three times as many steps as `settle`, in which its soft
    contacts come to rest.
    """

    def __init__(self, scene: Scene):
        self.scene = scene
        self.model = mujoco.MjModel.from_xml_string(scene.xml())
        self.data = mujoco.MjData(self.model)
        scene.place(self.model, self.data)
        mujoco.mj_step(self.model, self.data, max(3 * scene.settle, 1))
        if not scene.settle:
            mujoco.mj_resetData(self.model, self.data)
            scene.place(self.model, self.data)
        self.start = self.data.qpos.copy(), self.data.qvel.copy(), self.data.qacc_warmstart.copy()

    def reset(self) -> None:
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:], self.data.qacc_warmstart[:] = self.start

    def seconds(self) -> float:
        self.reset()
        start = perf_counter()
        mujoco.mj_step(self.model, self.data, self.scene.steps)
        return (perf_counter() - start) / self.scene.steps

    def errors(self) -> Errors:
        """Return energy and penetration over the timed steps; MuJoCo's trees have no joints that
        open.
        """
        self.reset()
        energy, deepest = [], 0.0
        for _ in range(self.scene.steps // 10 + 1):
            mujoco.mj_forward(self.model, self.data)
            mujoco.mj_energyPos(self.model, self.data)
            mujoco.mj_energyVel(self.model, self.data)
            energy.append(float(self.data.energy.sum()))
            deepest = max(
                deepest, -min((contact.dist for contact in self.data.contact), default=0.0)
            )
            mujoco.mj_step(self.model, self.data, 10)
        error = float(np.abs(np.array(energy) - energy[0]).max())
        return Errors(
            error if self.scene.conservative else None,
            None,
            deepest if len(self.scene.pairs.kind) else None,
        )


def line(found: dict, peers: list[str]) -> str:
    """Return a row as text, with the columns of these peers."""
    show: Callable = lambda x, form: "-" if x is None else format(x, form)  # noqa: E731
    return (
        f"{found['scene']:>16} {found['ns']:9.0f} {show(found['mj_ns'], '9.0f'):>9}"
        f" {show(found['ratio_to_mj_step'], '6.2f'):>6}"
        f"   {show(found['energy_error'], '.1e'):>8}, {show(found['mj_energy_error'], '.1e'):>8}"
        f"    {show(found['opening'], '.0e'):>8}"
        f"      {show(found['penetration'], '.1e'):>8}, {show(found['mj_penetration'], '.1e'):>8}"
    ) + "".join(
        f" {show(found.get(f'{peer}_ns'), '9.0f'):>9}"
        f" {show(found.get(f'ratio_to_{peer}'), '6.1f'):>6}"
        f"   {show(found.get(f'{peer}_energy_error'), '.1e'):>16}"
        f"   {show(found.get(f'{peer}_penetration'), '.1e'):>15}"
        for peer in peers
    )


if __name__ == "__main__":
    sys.exit(main())
