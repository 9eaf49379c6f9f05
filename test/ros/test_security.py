"""config/security/policy.xml allows each node what it does in a real run: nothing less, and
nothing more.
"""

import gc
import time
import xml.etree.ElementTree as ElementTree
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip(
    "rclpy", reason="rclpy is not importable: no ROS 2 here (./testbed test brings it)"
)

from rbdyn_ros.ros.messages import commands  # noqa: E402

ROOT = Path(__file__).parents[2]
POLICY = ElementTree.parse(ROOT / "config" / "security" / "policy.xml").getroot()
VERBS = (
    ("publish", "topic"),
    ("subscribe", "topic"),
    ("reply", "service"),
    ("request", "service"),
)
ACTION = {  # what executes an action
    "publish": ("feedback", "status"),
    "reply": ("send_goal", "cancel_goal", "get_result"),
}
SECONDS = 20.0  # the graph is known after milliseconds; a loaded machine is slow
IN_SIM_TIME = {"use_sim_time": True}
SHOWN = {
    "plant_node": "pendulum_simulator",
    "controller_node": "pendulum_controller",
    "port": 47873,
}


def full(name: str, node: str) -> str:
    """A name of the policy as the graph has it."""
    return (
        name
        if name.startswith("/")
        else f"/{node}/{name[2:]}"
        if name.startswith("~")
        else f"/{name}"
    )


def allowed(enclave: str) -> dict:
    """verb -> full names."""
    (profile,) = POLICY.findall(f"enclaves/enclave[@path='{enclave}']/profiles/profile")
    found = {
        verb: {
            full(e.text, profile.get("node"))
            for group in profile.findall(f"{kind}s[@{verb}='ALLOW']")
            for e in group.findall(kind)
        }
        for verb, kind in VERBS
    }
    for action in profile.findall("actions[@execute='ALLOW']/action"):
        for verb, parts in ACTION.items():
            name = full(action.text, profile.get("node"))
            found[verb] |= {f"{name}/_action/{part}" for part in parts}
    return found


def done(node) -> dict:
    """What a node does in the graph: verb -> full names."""
    whose = (node.get_name(), node.get_namespace())
    found = (
        node.get_publisher_names_and_types_by_node(*whose),
        node.get_subscriber_names_and_types_by_node(*whose),
        node.get_service_names_and_types_by_node(*whose),
        node.get_client_names_and_types_by_node(*whose),
    )
    return {verb: {name for name, _ in names} for (verb, _), names in zip(VERBS, found)}


def expected(enclave: str) -> dict:
    """What the node of an enclave is expected to do on this machine."""
    names = allowed(enclave)
    if enclave == "/rbdyn_ros/simulator" and find_spec("simulation_interfaces") is None:
        folder = ROOT / "bootstrap" / "simulation_interfaces" / "srv"
        standard = {
            "".join(f"_{c.lower()}" if c.isupper() else c for c in file.stem)[1:]
            for file in folder.glob("*.srv")
        }
        names["reply"] -= {name for name in names["reply"] if name.split("/")[2] in standard}
        for verb in ACTION:
            names[verb] -= {name for name in names[verb] if "/_action/" in name}
    if commands.STAMPED_TOPIC not in commands.KINDS:
        names["subscribe"].discard(f"/{commands.STAMPED_TOPIC}")
    return names


def started(ros, enclave: str, parameters: dict):
    """The node of an enclave, active."""
    from importlib import import_module

    from rclpy.parameter import Parameter

    from rbdyn_ros.ros.start import NODES

    module, name = NODES[enclave.split("/")[2]]
    kind = getattr(import_module(f"rbdyn_ros.ros.{module}"), name)
    node = kind(
        parameter_overrides=[Parameter(name, value=value) for name, value in parameters.items()]
    )
    node.autostart()
    return node


@pytest.mark.parametrize(
    "enclave, variants",
    [
        (
            "/rbdyn_ros/simulator",
            [{"start_after": ["pendulum_monitor", "pendulum_recorder", "pendulum_referee"]}],
        ),
        ("/rbdyn_ros/controller", [IN_SIM_TIME, {**IN_SIM_TIME, "observer.sensors": "imu"}]),
        ("/rbdyn_ros/monitor", [IN_SIM_TIME]),
        ("/rbdyn_ros/referee", [IN_SIM_TIME]),
        ("/rbdyn_ros/viewer", [SHOWN]),
        ("/rbdyn_ros/hil_bridge/controller", [{"board": "controller", "udp.port": 47871}]),
        ("/rbdyn_ros/hil_bridge/plant", [{"board": "plant", "udp.port": 47872}]),
    ],
)
def test_the_policy_is_what_the_node_does(ros, tmp_path, monkeypatch, enclave, variants):
    monkeypatch.chdir(tmp_path)  # for the report of the monitor
    if "viewer" in enclave:
        pytest.importorskip(
            "viser", reason="viser is not installed: pip install 'rbdyn_ros[view]'"
        )
    if "hil" in enclave:
        pytest.importorskip("cobs", reason="cobs is not installed: pip install 'rbdyn_ros[hil]'")
    found = {verb: set() for verb, _ in VERBS}
    for parameters in variants:
        node = started(ros, enclave, parameters)
        try:
            found = settled(node, found, expected(enclave), last=parameters is variants[-1])
        finally:
            node.close()
            node.destroy_node()
            del node
            # what refers to itself still holds it, and the graph answers for the first node of a
            # name
            gc.collect()
    for verb, _ in VERBS:
        more, less = found[verb] - expected(enclave)[verb], expected(enclave)[verb] - found[verb]
        assert not more and not less, (
            f"{enclave}, {verb}: policy.xml lacks {sorted(more)}, and should not have "
            f"{sorted(less)}"
        )


def settled(node, before: dict, wanted: dict, last: bool) -> dict:
    """What was found before and what a node does, once that is everything; it must not be less
    where others follow.

    A node of the same name that has just gone stays in the graph for a moment.
    """
    begin = time.monotonic()
    while True:
        found = {verb: before[verb] | names for verb, names in done(node).items()}
        seen = time.monotonic() - begin > 1.0 and all(
            found[verb] <= wanted[verb] for verb in found
        )
        if found == wanted or (seen and not last) or time.monotonic() - begin > SECONDS:
            return found
        time.sleep(0.1)


def test_the_recorder_receives_what_anybody_says_and_reports_what_it_receives():
    said = set().union(
        *(allowed(enclave.get("path"))["publish"] for enclave in POLICY.iter("enclave"))
    )
    said = {name for name in said if "/_action/" not in name}  # hidden topics are not recorded
    assert allowed("/rbdyn_ros/recorder")["subscribe"] == said
    assert allowed("/rbdyn_ros/recorder")["publish"] == {
        "/rosout",
        "/parameter_events",
        "/pendulum_recorder/received",
    }


def test_two_enclaves_alone_may_command_the_cart():
    commanding = {
        e.get("path")
        for e in POLICY.iter("enclave")
        if "/cart/command" in allowed(e.get("path"))["publish"]
    }
    assert commanding == {"/rbdyn_ros/controller", "/rbdyn_ros/hil_bridge/controller"}


def test_the_viewer_may_push_and_change_but_never_command_the_cart():
    viewer = allowed("/rbdyn_ros/viewer")
    assert "/cart/command" not in viewer["publish"]
    asking = {e.get("path") for e in POLICY.iter("enclave") if allowed(e.get("path"))["request"]}
    pushing = {
        e.get("path")
        for e in POLICY.iter("enclave")
        if "/pendulum_simulator/disturbance" in allowed(e.get("path"))["publish"]
    }
    assert asking == pushing == {"/rbdyn_ros/viewer"}


def test_the_document_names_every_enclave():
    text = (ROOT / "doc" / "security.md").read_text()
    assert all(f"`{enclave.get('path')}`" in text for enclave in POLICY.iter("enclave"))


@pytest.mark.parametrize("is_named", [True, False])
def test_where_security_is_enforced_nothing_starts_without_its_enclave(
    monkeypatch, tmp_path, is_named
):
    from rclpy.context import Context

    monkeypatch.setenv("ROS_SECURITY_ENABLE", "true")
    monkeypatch.setenv("ROS_SECURITY_STRATEGY", "Enforce")
    monkeypatch.delenv("ROS_SECURITY_KEYSTORE", raising=False)
    if is_named:
        monkeypatch.setenv("ROS_SECURITY_KEYSTORE", str(tmp_path))
    with pytest.raises(RuntimeError, match="SECURITY ERROR" if is_named else "failed to init"):
        Context().init(["--ros-args", "--enclave", "/rbdyn_ros/simulator"])
