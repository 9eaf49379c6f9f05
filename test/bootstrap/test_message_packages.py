"""The definitions that the set-up builds messages from are those of the packages of that name."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from bootstrap.message_packages import SIMULATION, TF2, source

ROS = "the wheels of ROS 2 are not here (./testbed test brings them)"
pytest.importorskip("rosidl_adapter", reason=ROS)
generator = pytest.importorskip("rosidl_generator_type_description", reason=ROS)
ament = pytest.importorskip("ament_index_python", reason=ROS)

KINDS = (".msg", ".srv", ".action")
NEEDED = ["action_msgs", "builtin_interfaces", "geometry_msgs", "service_msgs", "std_msgs"]
NEEDED += ["unique_identifier_msgs"]
RELEASED = json.loads((Path(__file__).parents[1] / "golden" / "messages.json").read_text())


def files(package: str) -> list[Path]:
    """Return the definitions of a package, relative to its folder."""
    folder = source(package)
    return sorted(p.relative_to(folder) for p in folder.rglob("*.*") if p.suffix in KINDS)


@pytest.mark.parametrize("package", [TF2, SIMULATION])
def test_type_hashes_are_those_of_the_released_package(package, tmp_path):
    """With another one no node of the released package would connect."""
    given = tmp_path / "definitions.json"
    given.write_text(
        json.dumps({"non_idl_tuples": [f"{source(package)}:{f}" for f in files(package)]})
    )
    options = {"package-name": package, "arguments-file": given, "output-dir": tmp_path}
    options["output-file"] = tmp_path / "made"
    words = [str(word) for name, value in options.items() for word in (f"--{name}", value)]
    subprocess.run([sys.executable, "-m", "rosidl_adapter", *words], check=True)
    share = {name: Path(ament.get_package_share_directory(name)) for name in NEEDED}
    arguments = tmp_path / "arguments.json"
    made = {
        "package_name": package,
        "output_dir": str(tmp_path),
        "idl_tuples": [f"{tmp_path}:{file.with_suffix('.idl')}" for file in files(package)],
        "include_paths": [f"{name}:{path}" for name, path in share.items()],
    }
    arguments.write_text(json.dumps(made))
    generator.generate_type_hash(str(arguments))
    found = {}
    for file in files(package):
        name = f"{package}/{file.with_suffix('')}"
        hashes = json.loads((tmp_path / file.with_suffix(".json")).read_text())["type_hashes"]
        found[name] = next(row["hash_string"] for row in hashes if row["type_name"] == name)
    assert found == RELEASED["type hashes"][package]


def test_constants_are_those_of_the_released_package():
    """Which no type hash covers."""
    from rosidl_adapter.parser import parse_message_string, parse_service_string

    found = {}
    for file in files(SIMULATION):
        text = (source(SIMULATION) / file).read_text()
        if file.suffix == ".msg":
            parts = [parse_message_string(SIMULATION, file.stem, text)]
        elif file.suffix == ".srv":
            whole = parse_service_string(SIMULATION, file.stem, text)
            parts = [whole.request, whole.response]
        else:
            continue
        constants = {c.name: c.value for part in parts for c in part.constants}
        if constants:
            found[str(file)] = constants
    assert found == RELEASED["constants"][SIMULATION]


@pytest.mark.parametrize("package", [TF2, SIMULATION])
def test_definitions_are_fields_and_constants_alone(package):
    assert not [f for f in files(package) if "#" in (source(package) / f).read_text()]
