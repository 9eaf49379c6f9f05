"""The simulation in the same process, without ROS, as a source of the live view.

The plant runs in the thread of `plant.runner.Runner`, in lockstep with the law, which
computes there a command for each state that it publishes: a machine that is busy slows time down
and changes nothing else. The view requests a state by a flag, on which the next tick makes one:
neither thread waits, and no state is made without a request.
"""

import io
import math
import threading
import time
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from rbdyn_ros.evaluation import closed_loop_table
from rbdyn_ros.files import write_csv
from rbdyn_ros.parameters.simulation import attitude
from rbdyn_ros.pendulum.bodies import Memory, candidate
from rbdyn_ros.plant.closed_loop import ControlError, LawCaller
from rbdyn_ros.plant.command import Command
from rbdyn_ros.plant.faults import fault_options as faults
from rbdyn_ros.plant.plant import Plant, Push, Setup
from rbdyn_ros.plant.runner import FAULT, PAUSED, PLAYING, Runner
from rbdyn_ros.plant.setup import RunConfig, warm_up
from rbdyn_ros.plant.tick import EPOCH_NS
from rbdyn_ros.schema import check
from rbdyn_ros.types import State, Vector
from rbdyn_ros.view import selection, source
from rbdyn_ros.view.meshes import shape
from rbdyn_ros.view.selection import TILT, Built, Selection
from rbdyn_ros.view.source import Alert, Control, Event, EventLog, PointForce, SceneState

HOLD = 0.2  # [s] for which a push acts that is not renewed
SILENT = 1.0  # [s] without a tick, after which the law is reported as hanging
WINDOW = 30  # states over which the real-time factor is measured
SOON = 0.5  # [s] of a change after which the page reports it
COMPILING = "What is new is compiled, once on this machine: up to a minute."
SLOW = 0.8  # part of the requested rate below which the page reports it


class OfflineLoop(source.Source):
    """A source of a plant and the law around it."""

    can_push = True

    def __init__(self, chosen: Selection):
        """Build, compile and start. Raise ValueError, in one sentence, for what does not fit."""
        self._log, self._changing = EventLog(), threading.RLock()
        self._seen = time.monotonic()  # when the newest tick passed
        self._recorded_from: int | None = None
        self._state: SceneState | None = None
        self._wanted = True
        self._preparing = "", 0.0  # the parameter that is being changed, and since when
        chosen = chosen._replace(law=selection.law(chosen))
        self._begin(chosen, selection.build(chosen))
        self._runner.play()

    # what is shown

    @property
    def title(self) -> str:  # pyrefly: ignore[bad-override]
        """The law and the integrator."""
        return f"{self._chosen.law}, {self._built.values['integrator.name']}"

    def latest(self) -> SceneState | None:
        """Return the newest state, and request the next."""
        state, self._wanted = self._state, True
        if state and self._runner.status == PLAYING and time.monotonic() - self._seen > SILENT:
            silence = time.monotonic() - self._seen
            who = f"The law {self._chosen.law} has not answered for {silence:.0f} s."
            state.problems = (Alert(who, "Wait, or end the program and choose another law."),)
        preparing, since = self._preparing
        if state and preparing and time.monotonic() - since > SOON:
            problem = Alert(f"Preparing {preparing}.", COMPILING, False)
            return replace(state, problems=(problem, *state.problems))
        return state

    @property
    def can_set_point(self) -> bool:  # pyrefly: ignore[bad-override]
        """Whether the law takes a set point."""
        return self._chosen.law != source.IDLE

    def events(self, first: int) -> tuple[Event, ...]:
        """Return the events from number `first` on."""
        return self._log.since(first)

    def controls(self) -> tuple[Control, ...]:
        """Return law, scenario, and every parameter of the loop."""
        return self._controls

    # what a person does

    def set_control(self, name: str, value: Any) -> str:
        """Change a value between two ticks; time waits where something compiles."""
        with self._changing:
            self._preparing = name, time.monotonic()
            try:
                if name in ("law", "scenario"):
                    self._choose(name, str(value))
                elif name == TILT.name:
                    tilt = math.radians(check(TILT, value, "view"))
                    self._change("initial.orientation", attitude(tilt))
                else:
                    self._change(name, value)
            except ValueError as error:
                return str(error)
            finally:
                self._preparing = "", 0.0
        # as the parameter has it: a float, where a whole number was typed
        value = self._built.values.get(name, value)
        parameter = TILT if name == TILT.name else self._built.table.get(name)
        unit = parameter.unit if parameter else ""
        self._log.add_change(self._runner.plant.time, name, value, unit)
        return ""

    def set_disturbance(self, height: float, force: Vector) -> str:
        """Push the rod, or at height 0 the cart, for a few tenths of a second of real time."""
        length = self._runner.plant.setup.params.rod_length
        wrench = np.array((*force, 0.0, 0.0, 0.0, 0.0, 0.0, min(max(height, 0.0), length)))
        if not np.isfinite(wrench).all():
            return f"the force is {list(force)} N; it must be finite"
        plant = self._runner.plant
        factor = self._runner.pace.real_time_factor
        hold = max(plant.tick_ns, round(1e9 * HOLD * factor))
        self._runner.push(Push(wrench, plant.stamp + hold))
        is_pushed = bool(wrench[:3].any())
        if is_pushed and not self._is_pushed:
            self._log.add_push(plant.time, force, float(wrench[8]))
        self._is_pushed = is_pushed
        return ""

    def set_point(self, x: float, y: float) -> str:
        """Send the cart to (x, y) [m]."""
        if not self.can_set_point:
            return super().set_point(x, y)
        self._reference = np.array((x, y))
        self._log.add_set_point(self._runner.plant.time, x, y)
        return ""

    def pause(self) -> str:
        """Let time stand still."""
        return self._runner.pause()

    def resume(self) -> str:
        """Let time run."""
        return self._runner.play()

    def step(self) -> str:
        """Take one tick."""
        return self._runner.step()

    def reset(self) -> str:
        """Begin again, also after a fault: plant, set point, clock and random numbers."""
        with self._changing:
            before, built = self._runner, self._built
            with before.between_ticks:
                start = "paused" if before.status == PAUSED else "immediately"
                config = built.run_config._replace(start=start)
                try:
                    runner = self._make_runner(built.setup, config)
                except ValueError as error:  # the initial state meets an obstacle that was moved
                    return str(error)
                built.loop.law.reset()
                self._install(runner, built)  # from here on nothing of the old one is taken
            before.end()
            self._launch(runner)
            self._log.add_reset(0.0)
        return ""

    @property
    def rate(self) -> float:  # pyrefly: ignore[bad-override]
        """The simulated seconds per second that are requested."""
        return self._runner.pace.real_time_factor

    @property
    def recorded(self) -> float:  # pyrefly: ignore[bad-override]
        """How long the recording is [s]; nan while nothing is recorded."""
        first = self._recorded_from
        return math.nan if first is None else 1e-9 * (self._runner.plant.stamp - first)

    def set_rate(self, factor: float) -> str:
        """Simulate `factor` seconds per second."""
        if refusal := source.refuse_rate(factor):
            return refusal
        self._remember("real_time_factor", float(factor))
        self._runner.pace = self._runner.pace._replace(real_time_factor=float(factor))
        return ""

    def start_recording(self) -> str:
        """Start to keep every tick; of them the newest ten minutes."""
        self._recorded_from = self._runner.plant.stamp
        return ""

    def stop_recording(self) -> tuple[str, bytes]:
        """Stop, and return the ticks as `simulate --controller` writes them."""
        first, self._recorded_from = self._recorded_from, None
        if first is None:
            return "", b""
        stamps, rows = self._runner.recent_history()
        kept = stamps >= first
        if not kept.any():
            return "", b""
        columns = selection.table(self._runner.plant, stamps[kept], rows[kept])
        file = io.BytesIO()
        write_csv(columns, file)
        return "run.csv", file.getvalue()

    def yaml(self) -> str:
        """Return the present state and what is not a default as a parameter file."""
        plant = self._runner.plant
        state = State(plant.time, plant.q.copy(), plant.v.copy())
        values = self._built.values | {"reference": tuple(self._reference.tolist())}
        return selection.parameter_file(self._chosen, self._built._replace(values=values), state)

    def close(self) -> None:
        """End the simulation's thread."""
        self._runner.end()

    # how the loop is made, and changed

    def _begin(self, chosen: Selection, built: Built, plant: Plant | None = None) -> None:
        """Compile what is new, and continue from the state of `plant`, or from the initial
        state.
        """
        made, config = built.setup, built.run_config
        if refusal := warm_up(made):
            raise ValueError(f"the first tick fails: {refusal}")
        if fault := closed_loop_table.warm_up(built.loop):  # plans, too, if the law does
            raise ValueError(fault)
        runner = self._make_runner(made, config)
        kept = self._reference if plant else None
        self._chosen, self._built = chosen, built
        self._controls = selection.controls(chosen, built)
        if plant:
            runner.plant.steps = round(plant.time * 1e9 / made.step_ns)
            runner.plant.reset(State(plant.time, plant.q.copy(), plant.v.copy()))
        self._install(runner, built)
        if kept is not None:
            self._reference = kept
        self._launch(runner)

    def _make_runner(self, made: Setup, config: RunConfig) -> Runner:
        return Runner(made, config, self._prepare, lambda status: None)

    def _launch(self, runner: Runner) -> None:
        """Begin; the law has answered the first state when this returns, so that a step has it."""
        runner.begin()
        with runner.between_ticks:
            self._prepare(runner)()

    def _install(self, runner: Runner, built: Built) -> None:
        """Let this runner, at its start, be what is shown and commanded."""
        self._runner = runner
        self._caller = LawCaller(built.loop.law, f"the law {built.loop.name}")
        self._reference = np.array(built.values["reference"])
        self._answered, self._is_pushed, self._impacts, self._status = -1, False, 0, ""
        self._instants: deque[tuple[float, float]] = deque(maxlen=WINDOW)
        if self._recorded_from is not None:
            self._recorded_from = runner.plant.stamp
            self._log.add(runner.plant.time, source.STATUS, "The recording begins anew.")

    def _remember(self, name: str, value: Any) -> None:
        """Keep a value that is changed in the running loop, for the next one."""
        self._built.values[name] = value
        self._chosen = self._chosen.change(name, value)

    def _rebuild(self, chosen: Selection, keeps_state: bool) -> None:
        """Replace the loop. Raise ValueError, with the old one still running, for what does not
        fit.
        """
        before, was_playing = self._runner, self._runner.status == PLAYING
        before.pause()
        try:
            self._begin(chosen, selection.build(chosen), before.plant if keeps_state else None)
        finally:
            if self._runner is not before:
                before.end()
            if was_playing:
                self._runner.play()

    def _choose(self, name: str, value: str) -> None:
        """Take another law or scenario. Raise ValueError, with the old one still running, for what
        does not fit.
        """
        control = next(control for control in self._controls if control.parameter.name == name)
        check(control.parameter, value, "view")
        changed: dict[str, Any] = {name: value}
        chosen = self._chosen._replace(**changed)
        if name == "scenario":  # a scenario replaces what was changed by hand
            kept = tuple(pair for pair in chosen.changed if pair[0] == "real_time_factor")
            chosen = chosen._replace(changed=kept, law="")
            chosen = chosen._replace(law=selection.law(chosen))
        self._rebuild(chosen, keeps_state=name == "law")

    def _change(self, name: str, value: Any) -> None:
        """Change a parameter. Raise ValueError, with nothing changed, for what does not fit."""
        parameter = self._built.table.get(name)
        if parameter is None:
            raise ValueError(f"{name} is no parameter of this view")
        value = check(parameter, value, "view")
        chosen = self._chosen.change(name, value)
        if selection.is_structural(name, chosen.law):
            self._rebuild(chosen, keeps_state=True)
            return
        built = self._built._replace(values={**self._built.values, name: value})
        plant, config = built.setup, built.run_config
        self._runner.plant.check(plant)
        if refusal := warm_up(plant):  # what compiles does so here, while the old plant goes on
            raise ValueError(f"the first tick would fail: {refusal}")
        self._chosen, self._built = chosen, built
        self._runner.reconfigure(plant, config)
        self._controls = selection.controls(chosen, built)

    # in the simulation's thread

    def _prepare(self, runner: Runner) -> Callable[[], None]:
        """Make the state after a tick, where one is requested; return the function that publishes
        it to the law.
        """
        if runner is not self._runner:  # it has been replaced, and is about to end
            return lambda: None
        self._seen = time.monotonic()
        if self._wanted:
            self._wanted = False
            self._state = self._snapshot(runner)
        return lambda: self._answer(runner)

    def _answer(self, runner: Runner) -> None:
        """Compute and send the law's command for a state that is new."""
        if runner is not self._runner:
            return
        runner.mark_published()
        stamp = runner.signals.expected_stamp
        if stamp == self._answered:
            return
        seen, plant = runner.signals.measurement, runner.plant
        q, v = (np.array(seen.q), np.array(seen.v)) if seen else (plant.q, plant.v)
        state = State(1e-9 * (stamp - EPOCH_NS), q.copy(), v.copy())
        try:
            force = self._caller.force(state.t, state, self._reference.copy())
        except ControlError as error:
            runner.fail(str(error))
            return
        self._answered = stamp
        runner.command(Command(tuple(force.tolist()), stamp, time.monotonic()))

    def _snapshot(self, runner: Runner) -> SceneState:
        """Return the plant as it is shown."""
        plant = runner.plant
        self._report(runner)
        factor, contacts = self._factor(plant.time, runner.status), plant.setup.system.contacts
        params = plant.setup.params._replace(contacts=contacts)
        diagnostics, q, v = plant.diagnostics, plant.q.tolist(), plant.v.tolist()
        newest = runner.signals.active_command
        return SceneState(
            time=plant.time,
            cart=(q[0], q[1]),
            attitude=tuple(q[2:]),
            cart_velocity=(v[0], v[1]),
            angular_velocity=tuple(v[2:]),
            shape=shape(params, plant.setup.travel, plant.limit, plant.elapsed),
            set_point=tuple(self._reference.tolist()),
            commanded=newest.force if newest else (math.nan, math.nan),
            applied=plant.force,
            disturbance=_disturbance(plant),
            joint=tuple(plant.reaction.tolist()),
            contacts=tuple(PointForce(touch.point, touch.force) for touch in plant.touches),
            energy=diagnostics.energy,
            balance=diagnostics.balance,
            command_age=time.monotonic() - newest.received if newest else math.nan,
            real_time_factor=factor,
            status=runner.status,
            faults=faults.describe(self._built.values),
            problems=self._problems(runner, factor),
        )

    def _factor(self, simulated: float, status: str) -> float:
        """Return simulated seconds per second over the last states; nan while time stands
        still.
        """
        if status != PLAYING:
            self._instants.clear()
            return math.nan
        self._instants.append((time.monotonic(), simulated))
        (begun, first), (now, last) = self._instants[0], self._instants[-1]
        return (last - first) / (now - begun) if now - begun > 0.1 else math.nan

    def _problems(self, runner: Runner, factor: float) -> tuple[Alert, ...]:
        """Return what is wrong, in words."""
        found, status = [], runner.status
        if status.startswith(FAULT):
            found.append(Alert(status, "Press Reset, and change what led here."))
        if runner.plant.off_travel:
            far = f"The cart is beyond its travel of {runner.plant.setup.travel:g} m."
            found.append(Alert(far, "Press Reset, or click a nearer set point.", False))
        if self._instants and self._instants[-1][0] - self._instants[0][0] > 0.3:
            asked = runner.pace.real_time_factor
            if factor < SLOW * asked:
                what = f"The simulation runs at {factor:.2f} of real time, not at {asked:g}."
                advice = "Choose a lower rate, a larger integrator.step or period, or another law."
                found.append(Alert(what, advice, False))
        return tuple(found)

    def _report(self, runner: Runner) -> None:
        """Append impacts and changes of the status to the events."""
        plant, log = runner.plant, self._log
        if plant.contact is not None:
            self._impacts = _impacts(plant.contact, self._impacts, log)
        if runner.status != self._status and self._status:
            log.add_status(plant.time, "simulation", runner.status)
        self._status = runner.status


def _disturbance(plant: Plant) -> PointForce | None:
    """Return the push that acts on the pendulum."""
    wrench = plant.input.disturbance.tolist()
    if not any(wrench[:6]):
        return None
    x, y, z = map(float, plant.point(tuple(wrench[6:])))
    return PointForce((x, y, z), tuple(wrench[:3]), tuple(wrench[3:6]))


def _impacts(memory: Memory, before: int, log: EventLog) -> int:
    """Append the impacts after number `before` to the events; return how many there are now."""
    count, kept = int(memory.recorded[0]), len(memory.events)
    if count < before:  # another plant, or a reset
        before = 0
    for row in memory.events[before : min(count, kept)]:
        sentence = f"An impact on {candidate(memory, int(row[1]))} of {row[2]:.3g} N s."
        log.add(float(row[0]), source.IMPACT, sentence)
    return count
