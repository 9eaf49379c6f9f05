"""Parameter files: what ROS writes is read, what is wrong is named with its file and line."""

import math
import os
import subprocess

import pytest

from rbdyn_ros.control import law_selection
from rbdyn_ros.evaluation import suite
from rbdyn_ros.files import read_input
from rbdyn_ros.parameters import model_file, read_files, yaml_file
from rbdyn_ros.view import recording
from rbdyn_ros.wire.session import read_key


@pytest.fixture
def read(tmp_path, monkeypatch):
    """Read YAML texts as a.yaml, b.yaml, ... and return name -> (value, source)."""
    monkeypatch.chdir(tmp_path)

    def read_texts(*texts, **options):
        names = [f"{letter}.yaml" for letter in "abc"[: len(texts)]]
        for name, text in zip(names, texts):
            (tmp_path / name).write_text(text)
        return read_files(names, **options)

    return read_texts


ENDLESS = "/dev/zero"


@pytest.mark.parametrize(
    "read, suffix",
    [
        (lambda path: read_files([path]), ""),
        (suite.read, ".yaml"),
        (model_file.read, ".yaml"),
        (model_file.read, ".urdf"),
        (recording.read, ".csv"),
        (recording.read, ".npz"),
        (lambda path: law_selection.load(str(path)), ".py"),
        (lambda path: read_key(str(path)), ""),
    ],
    ids=["parameters", "suite", "model", "urdf", "table", "arrays", "law", "key"],
)
def test_a_file_without_an_end_is_refused(tmp_path, monkeypatch, read, suffix):
    monkeypatch.setattr("rbdyn_ros.view.recording.LARGEST_TABLE", 1_000_000)
    path = tmp_path / f"endless{suffix}"
    path.symlink_to(ENDLESS)
    with pytest.raises(ValueError, match="it has more than 1?[0-9]*000 bytes|is no .npz file"):
        read(path)


def test_a_pipe_without_an_end_is_refused_at_its_size(tmp_path):
    """What a device or a pipe gives is read, up to the limit and no further."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    with subprocess.Popen(["dd", "if=/dev/zero", f"of={path}", "status=none"]) as writer:
        with pytest.raises(OSError, match="it has more than 1000 bytes"):
            read_input(path, 1000)
    assert writer.returncode  # nobody has read on


def section(name, *lines):
    return "\n".join([f"{name}:", "  ros__parameters:", *(f"    {line}" for line in lines), ""])


@pytest.mark.parametrize(
    "name",
    [
        "/**",
        "/*",
        "/pendulum_simulator",
        "pendulum_simulator",
        "/ns/**",
        "/ns/pendulum_simulator",
        "/**/pendulum_simulator",
    ],
)
def test_sections_that_reach_the_simulator(read, name):
    assert read(section(name, "rod: {mass: 3}", "cart.mass: 1e-1")) == {
        "rod.mass": (3.0, "a.yaml:3"),
        "cart.mass": (0.1, "a.yaml:4"),
    }


def test_a_namespace_may_be_nested(read):
    text = "ns:\n  pendulum_simulator:\n    ros__parameters:\n      gravity: 1.5\n"
    assert read(text) == {"gravity": (1.5, "a.yaml:4")}


def test_a_plain_file_needs_no_section(read):
    assert read("rod:\n  mass: 3\ngravity: 1\n") == {
        "rod.mass": (3.0, "a.yaml:2"),
        "gravity": (1.0, "a.yaml:3"),
    }


def test_a_later_file_wins(read):
    files = (
        section("/pendulum_simulator", "gravity: 1", "rod.mass: 1"),
        section("/**", "gravity: 2"),
        "gravity: 3",
    )
    assert read(*files) == {"gravity": (3.0, "c.yaml:1"), "rod.mass": (1.0, "a.yaml:4")}


def test_in_one_file_the_lower_section_wins_as_in_ros(read):
    text = section("/pendulum_simulator", "gravity: 1") + section("/**", "gravity: 2")
    assert read(text)["gravity"] == (2.0, "a.yaml:6")


def test_the_controller_reads_its_own_section(read):
    text = section("/**", "rod.mass: 2") + section(
        "/pendulum_controller", "controller: rest", "lqr.weights.position: 3"
    )
    assert read(text, nodes=("pendulum_controller",)) == {
        "rod.mass": (2.0, "a.yaml:3"),
        "controller": ("rest", "a.yaml:6"),
    }
    assert read(text) == {"rod.mass": (2.0, "a.yaml:3")}


def test_what_belongs_to_ros_or_to_foreign_nodes_is_left_alone(read):
    text = section(
        "/**", "use_sim_time: true", "qos_overrides: {/clock: {publisher: {depth: 1}}}"
    ) + section("/rviz2", "speed: 9")
    assert read(text) == {}


@pytest.mark.parametrize(
    ("written", "number"),
    [
        ("1e-3", 0.001),
        ("1.5E+3", 1500.0),
        ("+2", 2.0),
        (".5", 0.5),
        ("2.", 2.0),
        ("0", 0.0),
        ("01.5", 1.5),
        ("0x1F", 31.0),
        ("!!float 3", 3.0),
    ],
)
def test_a_number_is_what_rcl_takes_for_the_same_number(read, written, number):
    assert read(f"gravity: {written}")["gravity"] == (number, "a.yaml:1")


@pytest.mark.parametrize(
    "written",
    ["1_000", "1_0.5", "1:30", "1:30.5", "0b11", "0o17", "0x_F", '"1.5"', "010", "-07", "1e1_0"],
)
@pytest.mark.parametrize("tag", ["", "!!int ", "!!float "])
def test_what_readers_take_for_different_numbers_is_refused(read, written, tag):
    with pytest.raises(ValueError, match="^a.yaml:1: .*gravity.*(must be|write) a .*number"):
        read(f"gravity: {tag}{written}" if '"' not in written else f"gravity: {written}")


@pytest.mark.parametrize("written", ["010", "1_000", "1:30"])
def test_the_command_line_reads_the_numbers_of_the_files(written):
    with pytest.raises(ValueError, match="^--set gravity="):
        yaml_file.offline_values([], [yaml_file.assignment(f"gravity={written}")])


@pytest.mark.parametrize("file", ["suite", "model file"])
def test_suites_and_models_have_the_same_numbers(tmp_path, file):
    where = tmp_path / "a.yaml"
    reads = suite.read if file == "suite" else model_file.read
    rows = "rows: {S1: {measure: release, require: [travel <= 1], settings: {tilt: %s}}}"
    bodies = "bodies: {ball: {mass: %s, inertia: [1, 1, 1]}}"
    for written, found in [("1_0", "'1_0'"), ("1:30", "'1:30'"), ("010", ".*leading 0")]:
        where.write_text((rows if file == "suite" else bodies) % f"\n      {written}\n   ")
        with pytest.raises(ValueError, match=f"a.yaml.*{found}"):
            reads(where)


def test_a_thin_rod_is_a_body_within_round_off(read):
    assert read("rod.inertia: [1, 1, 2.000000001]")["rod.inertia"][0] == (1.0, 1.0, 2.000000001)
    assert read("rod.inertia: []")["rod.inertia"][0] == ()


def test_a_quaternion_of_seven_digits_is_normalized(read):
    quaternion, _ = read("initial.orientation: [0.7071068, 0, 0.7071068, 0]")[
        "initial.orientation"
    ]
    assert math.hypot(*quaternion) == pytest.approx(1.0, abs=1e-15)


@pytest.mark.parametrize(
    ("written", "distance"),
    [("1.3", (1.3,)), ("[1.3]", (1.3,)), ("[0, 0, 1.3]", (1.3,)), ("[]", ())],
)
def test_a_center_of_mass_is_a_distance_or_a_point(read, written, distance):
    assert read(f"rod.center_of_mass: {written}")["rod.center_of_mass"][0] == distance


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("rod.mas: 1", r"a.yaml:1: rod.mas is not a known parameter; did you mean rod.mass\?"),
        (
            section("/**", "gravity: 1", "cart.fixed: 1"),
            "a.yaml:4: cart.fixed is 1; it must be true or false",
        ),
        (
            section("/pendulum_controller", "abort.tilt: -1"),
            "a.yaml:3: abort.tilt is -1 rad; it must be a finite number > 0",
        ),
        (
            section("/pendulum_controller", "armd: true"),
            "a.yaml:3: armd is not a known parameter; did you mean armed",
        ),
        (
            section("/pendulum_simulater", "gravity: 1"),
            "a.yaml:3: no node is called pendulum_simulater; did you mean pendulum_simulator",
        ),
        (
            section("/a/pendulum_simulator", "gravity: 1")
            + section("/b/pendulum_simulator", "gravity: 1"),
            "a.yaml:6: sections /a/.* and /b/.* both",
        ),
        ("gravity: .nan", "a.yaml:1: gravity is nan m/s.2; it must be a finite number >= 0"),
        ("gravity: -.inf", "a.yaml:1: gravity is -inf m/s.2; it must be a finite number >= 0"),
        ("gravity:", "a.yaml:1: gravity is null; it must be a finite number >= 0"),
        ("gravity: 2001-01-01", "a.yaml:1: gravity is '2001-01-01'; it must be"),
        ("gravity: !!int x", "a.yaml:1: the value of gravity cannot be read"),
        (
            "gravity: !!python/object/apply:os.getcwd []",
            "a.yaml:1: broken YAML: could not determine a constructor",
        ),
        (
            "rod.inertia: [1, 1, 2.1]",
            (
                r"a.yaml:1: rod.inertia is \[1, 1, 2.1\] kg m\^2; no body has such moments: the "
                r"largest, 2.1, must be <= "
            ),
        ),
        (
            "rod.center_of_mass: [0.1, 0, 1]",
            "a.yaml:1: rod.center_of_mass is .*; it must lie on the rod's axis",
        ),
        (
            "initial.orientation: [0, 0, 0, 0]",
            "a.yaml:1: initial.orientation is .*; its norm is 0 and must be 1",
        ),
        (
            "initial.orientation: [1, 0, 0.1, 0]",
            (
                "a.yaml:1: initial.orientation is .*; its norm is 1.00498756 and must be 1 within "
                "1e-06"
            ),
        ),
        (
            "initial.orientation: [1, 0, 0]",
            "a.yaml:1: initial.orientation is .*; it must be a list of 4 finite numbers",
        ),
        (
            "input.force_x: [3, 2]",
            (
                "a.yaml:1: input.force_x is .*; it must be a list of finite numbers whose length "
                "is a multiple of 3"
            ),
        ),
        (
            "integrator.name: euler",
            "a.yaml:1: integrator.name is 'euler'; it must be one of .*quaternion_midpoint.*rk4",
        ),
        (
            "integrator.composition: x",
            "a.yaml:1: integrator.composition is 'x'; it must be one of none, suzuki4,",
        ),
        ("gravity: 1\ngravity: 2", "a.yaml:2: gravity is given twice"),
        ("{gravity: 1, gravity: 2}", "a.yaml:1: gravity is given twice"),
        ("rod: {mass: 1}\nrod.mass: 2", "a.yaml:2: rod.mass is given twice, first in line 1"),
        (
            section("/**", "gravity: 1") + "gravity: 2",
            "a.yaml:4: gravity stands outside `ros__parameters:`",
        ),
        ("/**:\n  gravity: 1", r"a.yaml:1: section /\*\* has no `ros__parameters:`"),
        *(
            (text, "a.yaml:1: section .* has no `ros__parameters:`; write it in the place of `ros")
            for text in (
                "/**:\n  ros_parameters:\n    gravity: 1",
                "pendulum_simulator:\n  ros_parameters:\n    gravity: 1",
                "ns:\n  pendulum_simulator:\n    ros__parameter:\n      gravity: 1",
                "left:\n  ros_parameters:\n    gravity: 1\n" + section("/**", "gravity: 1"),
            )
        ),
        ("pendulum_simulator:\n  gravity: 1", "a.yaml:1: section .* has no `ros__parameters:`"),
        ("/**:\n  ros__parameters:", "a.yaml:2: `ros__parameters:` holds no parameters"),
        ("", "a.yaml: the file holds no parameters"),
        ("- 1", "a.yaml:1: the file holds no parameters"),
        ("a: [", "a.yaml:1: broken YAML: "),
        ("a: &x 1\nb: *x", "a.yaml:2: broken YAML: a parameter file has no aliases: write"),
        ("gravity: 1\n---\ngravity: 2", "a.yaml:2: broken YAML: but found another document"),
        ("a: " + "[" * 5000, "a.yaml: broken YAML: nested too deeply; a parameter file needs"),
        ("? [1]\n: 2", "a.yaml:1: a name is expected before the colon"),
        ('gravity: "\x01"', "a.yaml: broken YAML: unacceptable character"),
    ],
)
def test_the_error_names_file_and_line(read, text, sentence):
    with pytest.raises(ValueError, match=f"^{sentence}") as error:
        read(text)
    assert "\n" not in str(error.value)


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe\x00")
    for name, why in [
        ("none.yaml", "No such file"),
        (".", "Is a directory"),
        ("bytes.yaml", "it is not UTF-8 text"),
    ]:
        with pytest.raises(ValueError, match=f"cannot read the parameter file: {why}"):
            read_files([tmp_path / name])


def test_a_home_folder_that_the_shell_has_left_is_found(tmp_path, monkeypatch):
    """The ~ of `--params-file=~/a.yaml`."""
    (tmp_path / "a.yaml").write_text("rod: {mass: 2.0}")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert [entry.value for entry in yaml_file.read("~/a.yaml")] == [2.0]
    with pytest.raises(
        ValueError, match="^~no-such-user/a.yaml: cannot read .*: there is no such"
    ):
        yaml_file.read("~no-such-user/a.yaml")
