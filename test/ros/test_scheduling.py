"""Priority, processors and the collector, as a node's parameters: in processes of their own, which
may end with it.
"""

import os
import signal
import subprocess
import sys
import time

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from rbdyn_ros.parameters.tables import lookup  # noqa: E402
from rbdyn_ros.ros import process  # noqa: E402
from rbdyn_ros.schema import check  # noqa: E402

VALUES = {"process.nice": 0, "process.fifo": 0, "process.processors": "", "process.gc": "on"}
HERE = sorted(os.sched_getaffinity(0))


def in_a_process(code: str) -> str:
    """What Python code prints in a process of its own."""
    head = "import os, gc, threading; from rbdyn_ros.ros import "
    head += f"process; VALUES = {VALUES}\n"
    return subprocess.run(
        [sys.executable, "-c", head + code],
        capture_output=True,
        text=True,
        check=True,
        timeout=60.0,
    ).stdout.strip()


@pytest.mark.parametrize("text, numbers", [("3", {3}), ("0,2-4", {0, 2, 3, 4}), ("1-1", {1})])
def test_lists_of_processors(text, numbers):
    assert process.processors(text) == numbers


@pytest.mark.parametrize("text", ["a", "1,", "-1", "1-", "0..3"])
def test_what_is_no_list_is_refused_by_the_parameter(text):
    with pytest.raises(ValueError, match="process.processors is .*such as 1 or 0,2-3"):
        check(lookup("process.processors", ""), text, "here")


def test_one_processor_without_quotes_says_to_write_them():
    """YAML reads 1 as a number, and what was wrong with it was not said."""
    with pytest.raises(ValueError, match="is 1; it must be a string: write it in quotes, '1'"):
        check(lookup("process.processors", ""), 1, "here")


def test_every_thread_is_pinned_and_later_ones_too():
    code = f"""
begin = threading.Event()
early = threading.Thread(target=begin.wait, daemon=True); early.start()
process.apply_scheduling({{**VALUES, 'process.processors': '{HERE[0]}', 'process.nice': 3}}, print)
late = threading.Thread(target=begin.wait, daemon=True); late.start()
for thread in map(int, os.listdir('/proc/self/task')):
    print(os.sched_getaffinity(thread) == {{{HERE[0]}}}, os.getpriority(os.PRIO_PROCESS, thread))
"""
    threads = in_a_process(code).splitlines()  # those of libraries too
    assert len(threads) >= 3 and set(threads) == {"True 3"}


def test_a_processor_that_is_not_there_is_a_sentence():
    with pytest.raises(
        ValueError,
        match=f"process.processors is {HERE[-1]}-900; this "
        f"process may not have .*, only {HERE[0]}",
    ):
        process.apply_scheduling({**VALUES, "process.processors": f"{HERE[-1]}-900"}, print)


@pytest.mark.parametrize("asked", [{"process.fifo": 50}, {"process.nice": -5}])
def test_what_is_refused_is_said_once_and_it_goes_on(asked, monkeypatch):
    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "setpriority", refuse)
    said = []
    process.apply_scheduling({**VALUES, **asked}, said.append)
    ((name, value),) = asked.items()
    assert (
        len(said) == 1
        and f"{name} is {value}" in said[0]
        and "continues without it" in said[0]
        and "CAP_SYS_NICE" in said[0]
    )


@pytest.mark.parametrize("word, collects", [("on", True), ("freeze", True), ("off", False)])
def test_the_collector(word, collects):
    code = (
        f"before = gc.get_freeze_count(); process.settle_collector({{**VALUES, 'process.gc': "
        f"'{word}'}}); print(gc.isenabled(), gc.get_freeze_count() > before)"
    )
    assert in_a_process(code) == f"{collects} {word != 'on'}"


def test_a_node_takes_them_as_parameters(graph):
    asked = (
        "-p",
        f"process.processors:='{HERE[0]}'",
        "-p",
        "process.nice:=4",
        "-p",
        "process.gc:=freeze",
        "-p",
        "start:=paused",
    )
    simulator = graph.process("simulator", *asked)
    end = time.monotonic() + 60.0
    while "paused" not in graph.log("simulator"):
        assert time.monotonic() < end and simulator.poll() is None, graph.log("simulator")
        time.sleep(0.1)
    threads = [int(name) for name in os.listdir(f"/proc/{simulator.pid}/task")]
    assert {os.getpriority(os.PRIO_PROCESS, thread) for thread in threads} == {4}
    assert all(os.sched_getaffinity(thread) == {HERE[0]} for thread in threads)
    simulator.send_signal(signal.SIGINT)
    assert simulator.wait(30.0) == 0
