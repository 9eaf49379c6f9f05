"""A clock for each of two pendulums, by a launch argument; skipped without launch_ros."""

import os
import sys

import pytest
from domain import alone

pytest.importorskip(
    "launch_ros",
    reason="launch_ros is not importable: it comes with a ROS 2 installation, not from PyPI",
)
pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

import rclpy  # noqa: E402
from rclpy.node import Node  # noqa: E402

from .launches import MARKERS, TIMEOUT, said, wait_for  # noqa: E402


def test_two_pendulums_side_by_side_have_a_clock_each(launch, tmp_path):
    """They share a domain; one of them takes half as fast as the other."""
    domain, context = alone(), rclpy.Context()
    context.init(domain_id=int(domain["ROS_DOMAIN_ID"]))
    probe = Node("probe", context=context)
    running = [
        launch(
            "simulation.launch.py",
            f"namespace:={side}",
            f"frame_prefix:={side}/",
            "clock_topic:=clock",
            f"real_time_factor:={factor}",
            "duration:=2",
            domain=domain,
        )
        for side, factor in (("left", "1.0"), ("right", "0.5"))
    ]

    def followers(side: str) -> set[str]:
        infos = probe.get_subscriptions_info_by_topic(f"/{side}/clock")
        return {f"{info.node_namespace}/{info.node_name}" for info in infos}

    try:
        for side in ("left", "right"):
            wait_for(lambda side=side: followers(side) == {f"/{side}/pendulum_controller"})
            wait_for(lambda side=side: probe.count_publishers(f"/{side}/clock") == 1)
        assert probe.count_publishers("/clock") == probe.count_subscribers("/clock") == 0
        assert [each.wait(TIMEOUT) for each in running] == [0, 0], said(tmp_path)
        assert said(tmp_path).count("the rod stayed upright") == 2
    finally:
        probe.destroy_node()
        context.shutdown()


def test_rviz_follows_the_clock_of_its_pendulum(launch, tmp_path, monkeypatch):
    """A program in its place writes down its arguments."""
    markers, programs = tmp_path / MARKERS, tmp_path / "lib" / "rviz2"
    for folder in (markers, programs):
        folder.mkdir(parents=True)
    (markers / "rviz2").touch()
    body = f"import sys\nopen({str(tmp_path / 'given')!r}, 'w').write(' '.join(sys.argv))\n"
    (programs / "rviz2").write_text(f"#!{sys.executable}\n{body}")
    (programs / "rviz2").chmod(0o755)
    monkeypatch.setenv("AMENT_PREFIX_PATH", f"{tmp_path}:{os.environ['AMENT_PREFIX_PATH']}")
    display = launch("display.launch.py", "namespace:=left", "clock_topic:=clock")
    assert display.wait(TIMEOUT) == 0, said(tmp_path)
    assert "-r /clock:=clock" in (tmp_path / "given").read_text()
