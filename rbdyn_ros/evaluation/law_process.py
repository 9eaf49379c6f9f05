"""The law in a process of its own, for results that others shall believe: it sees what a
controller sees, and neither the plant nor its faults nor the seeds of its noise.

Its pipe is a pair of sockets that carries these records, so that nothing that comes from the law
is executed on this side:

    RESET, or t q v reference, 14 doubles      ->
                                               <-  OK and two doubles, the force; OK alone; or the
                                                   letter of an exception in `_ERRORS` and its text

The law's time and memory are limited there. The process is no sandbox: the law can still read the
files of its user.
"""

import socket
import struct

import numpy as np

from rbdyn_ros.evaluation import bench
from rbdyn_ros.evaluation.bench import Bench, ControllerUnderTest, LawFailed, limit_memory
from rbdyn_ros.evaluation.metrics import NotForThisLaw, Scenario
from rbdyn_ros.evaluation.processes import LAST_RESORT, describe_exit, end, start
from rbdyn_ros.interrupts import CallTimedOut, CallTimeout
from rbdyn_ros.parameters.simulation import plant_params
from rbdyn_ros.plant.closed_loop import ControlError, StateRefused, command_force
from rbdyn_ros.plant.faults.fault_options import Faults
from rbdyn_ros.types import Array, State

STATE, FORCE = struct.Struct("14d"), struct.Struct("2d")
OK, RESET = b"=", b"reset"
_ERRORS = {b"L": LawFailed, b"N": NotForThisLaw, b"R": StateRefused, b"C": ControlError}
LARGEST = 100_000  # bytes of a record


class LawProcess:
    """A law that is designed and computed in a process of its own, with the methods of a law."""

    def __init__(self, under_test: ControllerUnderTest, scenario: Scenario):
        """Design it. Raise LawFailed, or NotForThisLaw, with the sentence of the process."""
        self._name = f"the law {under_test.name}"
        # of the scenario, the law knows what it is designed for
        known = scenario._replace(seed=0, faults=Faults(), observer="none")
        self._work = under_test, known, bench.LONGEST
        self._limit = 4.0 * bench.LONGEST + under_test.call_timeout
        self._start()

    def _start(self) -> None:
        self._process, self._socket = start(_serve, *self._work)
        # the process keeps its limits itself, unless the law prevents it
        self._socket.settimeout(self._limit)
        try:
            self._receive()
        except ControlError as error:
            raise LawFailed(str(error)) from None

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Return the force (2,) [N]. Raise ControlError, or StateRefused, as the law does."""
        seen = STATE.pack(t, *state.q.tolist(), *state.v.tolist(), *reference.tolist())
        return np.array(FORCE.unpack(self._exchange(seen)))

    def reset(self) -> None:
        """Let the law forget the past; a process that has ended is started again. Raise LawFailed
        where that fails.
        """
        try:
            self._exchange(RESET)
        except ControlError:
            self.close()
            self._start()

    def close(self) -> None:
        """End the process."""
        self._socket.close()
        end([self._process])

    def _exchange(self, record: bytes) -> bytes:
        try:
            self._socket.send(record)
        except OSError:
            raise ControlError(self._explain_end()) from None
        return self._receive()

    def _receive(self) -> bytes:
        try:
            answer = self._socket.recv(LARGEST)
        except OSError:
            answer = b""
        if answer[:1] == OK and len(answer) in (1, 1 + FORCE.size):
            return answer[1:]
        if error := _ERRORS.get(answer[:1]):
            raise error(answer[1:].decode(errors="replace"))
        raise ControlError(self._explain_end())

    def _explain_end(self) -> str:
        return f"{self._name}: its process {describe_exit(self._process)}"


def _serve(
    connection: socket.socket, under_test: ControllerUnderTest, scenario: Scenario, longest: float
) -> None:
    """Design the law and answer, until the other end is closed."""
    CallTimeout.last_resort, bench.LONGEST = LAST_RESORT, longest
    with limit_memory():
        try:
            mine = Bench(under_test)
            law = mine.law(scenario)
            connection.send(OK)
            while _answer_commands(connection, law, under_test):
                mine.reset(law)
                connection.send(OK)
        except (LawFailed, NotForThisLaw, ValueError) as error:
            _send_error(connection, error)
        except OSError:  # the other end is closed
            return


def _answer_commands(connection: socket.socket, law, under_test: ControllerUnderTest) -> bool:
    """Answer until a reset, and return True; or until the end, and return False."""
    name, limit, t = f"the law {under_test.name}", under_test.call_timeout, 0.0
    with CallTimeout(limit) as calls:
        while record := connection.recv(STATE.size):
            if record == RESET:
                return True
            t, *numbers = STATE.unpack(record)
            q, v, reference = np.split(np.array(numbers), (6, 11))
            try:
                force = calls(command_force, law, t, State(t, q, v), reference, name)
                connection.send(OK + FORCE.pack(*force.tolist()))
            except ControlError as error:
                _send_error(connection, error)
            except CallTimedOut:
                text = f"{name} took longer than {limit:g} s for the state at t = {t:.3f} s"
                _send_error(connection, ControlError(text))
                return False
    return False


def _send_error(connection: socket.socket, error: Exception) -> None:
    letter = next((c for c, kind in _ERRORS.items() if isinstance(error, kind)), b"L")
    connection.send(letter + str(error).encode()[: LARGEST - 1])


class IsolatedBench(Bench):
    """A bench on the plant's side, which never imports the law."""

    def __init__(self, under_test: ControllerUnderTest):
        """Prepare the plant; a law is started for each scenario that differs."""
        self.under_test, self._designed = under_test, {}
        self.params = plant_params(under_test.values)

    def _design(self, scenario: Scenario) -> LawProcess:
        for law in self._designed.values():  # one at a time: most cases share a scenario
            law.close()
        self._designed.clear()
        return LawProcess(self.under_test, scenario)

    def reset(self, law: LawProcess) -> None:
        """Let the law forget the past. Raise LawFailed where that fails."""
        law.reset()
