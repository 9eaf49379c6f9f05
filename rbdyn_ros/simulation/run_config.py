"""How a plant is run in time, as numbers."""

from typing import NamedTuple

from rbdyn_ros.faults.options import Faults
from rbdyn_ros.simulation.command import Watchdog


class RunConfig(NamedTuple):
    """How the plant is run: an immutable snapshot, swapped between two ticks."""

    real_time_factor: float  # 0 as fast as it goes
    overrun: str  # skip slip stop
    start: str  # on_command immediately paused
    lockstep: bool
    lockstep_timeout: float  # [s]
    lockstep_reaction: str  # zero hold fault
    watchdog: Watchdog
    force_limit: float  # [N] norm
    idle_period: float  # [s]
    history_rows: int
    faults: Faults
    seed: int  # of what the faults draw

    @property
    def slowdown(self) -> float:
        """Real seconds per simulated second where that is more than one: commands may take so much
        longer.
        """
        return 1.0 / self.real_time_factor if 0.0 < self.real_time_factor < 1.0 else 1.0

    @property
    def oldest_stamp(self) -> float:
        """How old the state may be [s, simulated] that a command answers; unlimited where time is
        not paced.
        """
        if self.lockstep or self.real_time_factor == 0.0 or self.watchdog.timeout == 0.0:
            return float("inf")
        return self.watchdog.timeout * max(1.0, self.real_time_factor)
