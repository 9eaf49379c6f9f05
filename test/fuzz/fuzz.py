"""Send malformed frames to the wire code, and to a bridge that runs.

    python test/fuzz/fuzz.py
    python test/fuzz/fuzz.py --frames 1000000 --bridge 0  # without ROS 2

The exit code is 0 if each frame is counted under its reason and none is accepted, 1 if not, 2 for
bad input.
"""

import argparse
import signal
import sys
import tempfile
from pathlib import Path

from wire_fuzz import through_a_link

from rbdyn_ros.console import CannotBegin
from rbdyn_ros.optional import library, no_ros, stay_local
from rbdyn_ros.parameters.command_line import SEED, number
from rbdyn_ros.schema import setting

FRAMES = setting("--frames", 100_000, low=0)
BRIDGE = setting("--bridge", 20_000, low=0)


def main(words: list[str] | None = None) -> int:
    """Send the frames that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for option, target in ((FRAMES, "the wire code"), (BRIDGE, "a bridge process, over UDP")):
        default = str(option.default)
        parser.add_argument(
            option.name, default=default, help=f"as many for {target} (default: {default})"
        )
    parser.add_argument("--seed", default="0", help="choose the frames by this seed (default: 0)")
    arguments = parser.parse_args(words)
    try:
        library("cobs.cobs", "hil", "the wire to a board")
        frames, bridge = number(FRAMES, arguments.frames), number(BRIDGE, arguments.bridge)
        seed = number(SEED, arguments.seed)
        if bridge and (missing := no_ros("take --bridge 0")):
            raise ValueError(missing)
        passed = fuzz_the_wire(frames, seed)
        if bridge:
            passed &= fuzz_a_bridge(bridge, seed)
    except (ValueError, CannotBegin) as error:
        print(f"fuzz: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("fuzz: interrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    print("passed" if passed else "FAILED")
    return 0 if passed else 1


def fuzz_the_wire(frames: int, seed: int) -> bool:
    """Return whether each frame is counted once, under its reason, and none is taken."""
    counted = through_a_link(frames, seed)
    total = sum(counted.counts.values())
    sent = f"wire: {frames} frames sent, {total} counted: {listed(counted.counts)}"
    print(sent, *counted.mistaken, sep="\n  ", flush=True)
    return total == frames and not counted.mistaken


def fuzz_a_bridge(frames: int, seed: int) -> bool:
    """Return whether a bridge in a process of its own survives the frames and obeys none."""
    from bridge_fuzz import FuzzedBridge

    stay_local(own_domain=True)
    with tempfile.TemporaryDirectory() as folder:
        bridge = FuzzedBridge(Path(folder))
        try:
            survived = bridge.run(frames, seed)
        except TimeoutError as over:
            print(f"bridge: {over}")
            return False
        finally:
            bridge.close()
    print(
        f"bridge: {frames} frames sent, {survived.counted} counted, {survived.dropped} dropped by "
        f"the system before: {listed(survived.counts)}\n"
        f"  alive: {survived.alive}; commands meanwhile: {survived.commands}; takes the next "
        f"right frame: {survived.answered}"
    )
    return survived.passed


def listed(counts: dict) -> str:
    """Return the counts in words."""
    return ", ".join(f"{number} {reason}" for reason, number in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main())
