"""`python -m rbdyn_ros identify`: from a table of `simulate` to the parameters of the nodes."""

import csv
import functools
import json
import math

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from rbdyn_ros.__main__ import main
from rbdyn_ros.identification import plant_numbers
from rbdyn_ros.parameters.yaml_file import offline_values

FRICTION = ",".join(plant_numbers.FRICTION)  # known where it is no matter: fewer fits
PLANT = ("--set=cart.mass=2.5", "--set=cart.damping=0.4", "--set=rod.center_of_mass=1.1")


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A table of a plant that is not the default one."""
    file = tmp_path_factory.mktemp("identify") / "run.csv"
    words = ["--controller", "tracking", "--tilt", "0", "--duration", "12", "--out", str(file)]
    assert main(["simulate", *words, *PLANT]) == 0
    return file


@pytest.fixture(scope="module")
def short(run, tmp_path_factory):
    """The first five seconds, which are enough for one number."""
    folder = tmp_path_factory.mktemp("short")
    return changed(run, folder, lambda columns: {n: c[:2501] for n, c in columns.items()})


def changed(run, tmp_path, change):
    """The same table after `change(columns)`."""
    with open(run, newline="") as file:
        head, *rows = csv.reader(file)
    columns = dict(zip(head, np.array(rows, float).T))
    columns = change(columns) or columns
    out = tmp_path / "changed.csv"
    table = np.column_stack(list(columns.values()))
    np.savetxt(out, table, "%.17g", ",", header=",".join(columns), comments="")
    return out


def test_the_file_that_it_writes_is_the_plant_for_every_node(run, tmp_path, capsys):
    out, result = tmp_path / "plant.yaml", tmp_path / "fit.json"
    assert main(["identify", str(run), "--out", str(out), "--json", str(result)]) == 0
    assert f"wrote {out}" in capsys.readouterr().out
    values = offline_values([out])
    assert values["cart.mass"] == pytest.approx(2.5, rel=1e-5)
    assert values["cart.damping"] == pytest.approx(0.4, rel=1e-4)
    assert values["rod.center_of_mass"] == pytest.approx((1.1,), rel=1e-5)
    found = json.loads(result.read_text())["parameters"]
    assert found["cart.mass"]["value"] == pytest.approx(2.5, rel=1e-5)
    assert found["delay"]["value"] == pytest.approx(0.0, abs=1e-5)


def test_rows_that_are_farther_apart_than_the_commands_have_their_mean_force(tmp_path):
    """With the force at the row alone the center of mass was 1.03 m, the cart 2.48 kg."""
    file, result = tmp_path / "run.csv", tmp_path / "fit.json"
    words = ["--controller", "tracking", "--duration", "12", "--every", "0.02", "--out", str(file)]
    assert main(["simulate", *words, *PLANT]) == 0
    assert main(["identify", str(file), "--json", str(result)]) == 0
    found = json.loads(result.read_text())["parameters"]
    assert found["cart.mass"]["value"] == pytest.approx(2.5, rel=1e-3)
    assert found["rod.center_of_mass"]["value"] == pytest.approx(1.1, rel=0.01)


def test_a_gap_is_cut_out_and_said(short, tmp_path, capsys):
    def lose(columns):
        return {name: np.delete(c, slice(1000, 1200)) for name, c in columns.items()}

    words = ["--fit", "cart.mass", *PLANT[1:]]
    assert main(["identify", str(changed(short, tmp_path, lose)), *words]) == 0
    said = capsys.readouterr()
    assert "cut at 1 gaps" in said.err and "cart.mass                      2.5" in said.out


@pytest.mark.parametrize("part", (0.05, 0.2))
def test_stamps_that_are_early_or_late_are_said(short, tmp_path, capsys, part):
    """By up to a quarter of the period: taken as evenly spaced, which is said."""
    fit = tmp_path / "fit.json"

    def scatter(columns):
        late = part * columns["t"][1]
        draw = np.random.default_rng(5).uniform(-late, late, len(columns["t"]))
        columns["t"] = columns["t"] + draw

    words = ["--fit", "cart.mass", *PLANT[1:], "--json", str(fit)]
    assert main(["identify", str(changed(short, tmp_path, scatter)), *words]) == 0
    said = capsys.readouterr().err
    assert f"up to {100 * part:.0f} % of that early or late; they are taken as evenly" in said
    assert "gaps" not in said
    found = json.loads(fit.read_text())["parameters"]["cart.mass"]
    assert found["value"] == pytest.approx(2.5, rel=1e-4)


def test_stamps_that_are_rounded_change_no_number(short, tmp_path, capsys):
    """Those of Unix time are, to 2.4e-7 s: the period is their mean, not their median."""

    def to_unix_time(columns):
        columns["t"] = columns["t"] + 1.7e9

    words, found = ["--fit", "cart.mass", *PLANT[1:], "--json"], []
    for change in (lambda columns: None, to_unix_time):
        fit = tmp_path / "fit.json"
        assert main(["identify", str(changed(short, tmp_path, change)), *words, str(fit)]) == 0
        found.append(json.loads(fit.read_text())["parameters"]["cart.mass"]["value"])
    assert found[1] == pytest.approx(found[0], rel=2e-6) and "early" not in capsys.readouterr().err


def test_without_velocities_it_takes_differences(short, tmp_path, capsys):
    def forget(columns):
        return {n: c for n, c in columns.items() if n not in ("vx", "vy", "wx", "wy", "wz")}

    words = ["--fit", "cart.mass", *PLANT[1:]]
    assert main(["identify", str(changed(short, tmp_path, forget)), *words]) == 0
    assert "cart.mass                      2.5" in capsys.readouterr().out


def test_a_rod_that_spins_is_fitted_with_and_without_velocities(tmp_path, capsys):
    out = tmp_path / "spin.csv"
    words = ["--set", "initial.angular_velocity=[0.0,0.0,8.0]", "--duration", "6"]
    inertia = "--set=rod.inertia=[0.5,0.5,0.05]"
    assert (
        main(["simulate", "--controller", "tracking", *words, *PLANT, inertia, "--out", str(out)])
        == 0
    )
    fit = ["--fit", "cart.mass,rod.center_of_mass", *PLANT[1:2], inertia]
    for columns in (("none",), ("vx", "vy", "wx", "wy", "wz")):
        less = changed(out, tmp_path, lambda c: {n: v for n, v in c.items() if n not in columns})
        assert main(["identify", str(less), *fit]) == 0
        told = capsys.readouterr().out
        assert "cart.mass                      2.5" in told
        assert "rod.center_of_mass             1.1" in told


def late(columns):
    """The commands of a drive that follows 4 ms later: what acted, but earlier."""
    for name in ("Fx", "Fy"):
        columns[name] = np.append(columns[name][2:], columns[name][-2:])


def test_a_delay_and_a_tilt_are_comments_in_the_file(run, tmp_path, capsys):
    out = tmp_path / "plant.yaml"
    words = ["--fit", "cart.mass,delay,tilt.roll,tilt.pitch", "--out", str(out), *PLANT[1:]]
    assert main(["identify", str(changed(run, tmp_path, late)), *words]) == 0
    said = capsys.readouterr()
    assert "by how much the stamps of the sensors are late is part of it" in said.err
    comments = [line for line in out.read_text().splitlines() if line.startswith("#")]
    assert comments[2].startswith("#   delay: 0.00")
    assert "# No parameters of the plant: delay, tilt.roll, tilt.pitch." in comments
    assert offline_values([out])["cart.mass"] == pytest.approx(2.5, rel=1e-5)
    told = {line.split()[0]: float(line.split()[1]) for line in said.out.splitlines()[1:5]}
    assert told["delay"] == pytest.approx(0.004, abs=1e-6)
    assert abs(told["tilt.roll"]) < 1e-6 and abs(told["tilt.pitch"]) < 1e-6


def fall(columns):
    """From t = 9 s on the rod leans further, to the floor."""
    half = 0.5 * np.clip(columns["t"] - 9.0, 0.0, 1.6)
    columns |= {"qw": np.cos(half), "qx": 0.0 * half, "qy": np.sin(half), "qz": 0.0 * half}
    return {n: c for n, c in columns.items() if n not in ("vx", "vy", "wx", "wy", "wz")}


def saturate(columns):
    """As if 3 N were all that the drive can give."""
    size = np.maximum(np.hypot(columns["Fx"], columns["Fy"]), 1e-9)
    for name in ("Fx", "Fy"):
        columns[name] = columns[name] * np.minimum(1.0, 3.0 / size)


@pytest.mark.parametrize(
    "change, sentence",
    [
        (fall, "the rod fell at t = 10.4 s; the 1.6 s until it stands again, or to the end, are"),
        (saturate, "its force has its largest size, 3 N, in "),
    ],
)
def test_a_fall_and_a_force_at_its_limit_are_said(run, tmp_path, capsys, change, sentence):
    words = ["--fit", "cart.mass", *PLANT[1:]]
    main(["identify", str(changed(run, tmp_path, change)), *words])
    assert sentence in capsys.readouterr().err


def spoil(name, value, rows=slice(None)):
    def change(columns):
        columns[name][rows] = value

    return change


def scale(factor, *names):
    def change(columns):
        return columns | {name: factor * columns[name] for name in names}

    return change


def without_velocities(change):
    def lose(columns):
        columns = change(columns)
        return {n: c for n, c in columns.items() if n not in ("vx", "vy", "wx", "wy", "wz")}

    return lose


@pytest.mark.parametrize(
    "change, sentence",
    [
        (spoil("Fx", np.nan), "it has no column Fx, the force on the cart"),
        (lambda c: [spoil(n, 1.0)(c) for n in ("Fx", "Fy")] and c, "its force never changes"),
        (spoil("qw", 57.3), "they must be a unit quaternion"),
        (lambda c: c.update(t=c["t"][::-1]), "its time runs backwards"),
        (spoil("t", 3.0, slice(2000, 2001)), "its time runs backwards; cut it where the clock"),
        (spoil("x", np.nan, slice(70, 71)), "rows whose time or pose is not finite"),
        (scale(1e3, "x", "y"), "m/s^2, as no cart does; x and y must be in m, not mm"),
        (without_velocities(scale(1e3, "x", "y")), "m/s^2, as no cart does; x and y must be in m"),
        (scale(1e3, "vx", "vy"), "its vx, vy are 1e+03 times the change of x, y over t"),
        (scale(180.0 / np.pi, "wx", "wy"), "its wx, wy are 57.3 times the change of the attitude"),
        (scale(1e3, "t"), "its rows are 2 s apart by its column t; it must be at most 0.05 s"),
        (lambda c: {n: v[:5] for n, v in c.items()}, "it has 5 rows; record a longer motion"),
    ],
)
def test_a_record_that_says_nothing_gets_a_sentence(short, tmp_path, capsys, change, sentence):
    assert main(["identify", str(changed(short, tmp_path, change))]) == 2
    assert sentence in capsys.readouterr().err


def test_forces_in_another_unit_are_not_fitted(run, tmp_path, capsys):
    out = tmp_path / "plant.yaml"
    other = changed(run, tmp_path, scale(0.1, "Fx", "Fy"))
    assert main(["identify", str(other), "--out", str(out), *PLANT]) == 1
    said = capsys.readouterr().err
    assert "the record's units are not m, s, rad and N" in said and not out.exists()


def test_a_number_that_runs_to_the_end_of_its_range_is_none(short, tmp_path, capsys):
    words = ["--set", "cart.mass=0.1", "--fit", "cart.mass", *PLANT[1:]]
    assert main(["identify", str(short), *words]) == 1
    assert "cart.mass runs to 2, an end of the range from 0.005 to 2" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words, sentence",
    [
        (["--fit", "cart.mas"], "cart.mas cannot be fitted"),
        (["--fit", "delay, cart.mass,delay"], "delay is to be fitted twice; name it once"),
        (["--segment", "0"], "--segment is 0 s"),
        (["--set", "cart.mass=-1"], "cart.mass is -1"),
        (["--out", "/proc/none/plant.yaml"], "/proc/none"),
        (["--design", "x.yaml", "--band", "5"], "--band is 5; it must be LOW,HIGH"),
        (["--design", "x.yaml", "--band", "5,2", "--fit", "cart.mass"], "the band is 5 to 2 Hz"),
        (["--design", "x.yaml", "--controller", "none"], "none"),
        (["--design", "x.yaml", "--axis", "z"], "--axis is z; it must be x or y"),
        (
            ["--design", "x.yaml", "--set", "cart.force_limit=0", "--fit", "cart.mass"],
            "cart.force_limit is 0 N; it must be",
        ),
        (["--report", "fit.pdf"], "--report is fit.pdf; it must end in .html"),
        (["--known", "cart.mas"], "--known cart.mas: it must be one of cart.mass, cart.damping"),
        (
            ["--fit", "cart.mass,delay", "--known", "delay"],
            "delay is in --fit and in --known; leave it out of one of them",
        ),
        (["--fit", "rod.equivalent_length,rod.inertia"], "one follows from the other"),
    ],
)
def test_words_that_are_wrong_get_a_sentence(short, capsys, words, sentence):
    assert main(["identify", str(short), *words]) == 2
    assert sentence in capsys.readouterr().err


def test_what_is_known_is_not_fitted(run, tmp_path, capsys):
    """The rod's mass is, by default, which the help says first; --known takes more out."""
    fit = tmp_path / "fit.json"
    known = [
        "--known",
        f"rod.mass,rod.inertia, joint.damping,delay,{FRICTION}",
        "--json",
        str(fit),
    ]
    assert main(["identify", str(run), *known, *PLANT[1:]]) == 0
    found = json.loads(fit.read_text())["parameters"]
    assert set(found) == {"cart.mass", "cart.damping", "rod.center_of_mass"}
    assert found["cart.mass"]["value"] == pytest.approx(2.5, rel=1e-5)
    everything = ",".join(plant_numbers.DEFAULT)
    assert main(["identify", str(run), "--known", everything]) == 2
    assert "--known leaves nothing to fit" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["identify", "--help"])
    told = capsys.readouterr().out
    assert "the rod's mass is known" in told[: told.index("positional arguments")]


LENGTH, DAMPING = 0.0985, 0.09  # [m] J / (m l), [1/s] d / J


@functools.cache
def swing(duration, cart=0.0):
    """The times, the angle phi from upright [rad] of a rod that swings, hanging, and the position
    of its cart x = -c L sin phi [m], with c = mu l / L and the rod's part mu of all mass:

        phi'' + cos(phi) x'' / L - (g / L) sin phi + (d / J) phi' = 0.
    """

    def rate(_, y):
        s, c, w = math.sin(y[0]), math.cos(y[0]), y[1]
        return w, (9.81 / LENGTH * s - DAMPING * w - cart * c * s * w * w) / (1.0 - cart * c * c)

    t = np.arange(0.0, duration, 0.002)
    y = solve_ivp(rate, (0.0, t[-1]), (np.pi + 0.6, 0.0), t_eval=t, rtol=1e-10, atol=1e-10).y
    return t, y[0], -cart * LENGTH * np.sin(y[0])


def written(place, **columns):
    np.savetxt(
        place, np.column_stack([*columns.values()]), "%.12g", ",", header=",".join(columns),
        comments="",
    )  # fmt: skip
    return str(place)


def decay(tmp_path, kind, duration=8.0):
    """A free decay with 1 mrad of noise, as it is recorded in different ways."""
    t, angle, _ = swing(duration)
    draw = np.random.default_rng(2)
    angle = angle + 1e-3 * draw.standard_normal(len(t))
    half, zero = 0.5 * angle, np.zeros(len(t))
    attitude = {"qw": np.cos(half), "qx": zero, "qy": np.sin(half), "qz": zero}
    noise = {axis: 5e-4 * draw.standard_normal(len(t)) for axis in "xy"}
    columns = {
        "angle": {"pitch": angle},
        "one axis": {"x": noise["x"], "Fx": zero} | attitude,
        "other axis": {"y": noise["y"], "roll": angle},
        "zero force": noise | attitude | {"Fx": zero, "Fy": zero},
    }[kind]
    return written(tmp_path / "decay.csv", t=t, **columns)


@pytest.mark.parametrize("kind", ["angle", "one axis", "other axis", "zero force"])
def test_a_rod_that_swings_out_tells_its_length_and_its_damping(tmp_path, capsys, kind):
    """On a cart that stands, without a force, without velocities, and from any first guess."""
    fit, plant = tmp_path / "fit.json", tmp_path / "plant.yaml"
    known = ["--set", "rod.mass=0.15", "--set", "rod.center_of_mass=0.074"]
    words = ["--json", str(fit), "--out", str(plant), *known]
    if kind != "angle":
        words += ["--known", FRICTION]
    assert main(["identify", decay(tmp_path, kind), *words]) == 0
    said = capsys.readouterr().err
    assert "it has no force, so that the rod swings freely, on a cart that stands" in said
    assert "determines m l / J, 10.15" in said and "need a record under a force" in said
    found = json.loads(fit.read_text())["parameters"]
    length, damping = (found[name] for name in plant_numbers.DECAY)
    J = 0.15 * 0.074 * LENGTH
    assert len(found) == 2 and length["value"] == pytest.approx(LENGTH, rel=2e-4)
    assert abs(length["value"] - LENGTH) < 1.5 * length["interval"]
    assert damping["value"] == pytest.approx(DAMPING * J, rel=0.02)
    values = offline_values([plant])
    assert values["rod.inertia"][0] == pytest.approx(J - 0.15 * 0.074**2, rel=2e-3)


def test_a_center_of_mass_that_no_such_rod_has_is_said(tmp_path, capsys):
    """That of the default plant: the ratio is found all the same."""
    assert main(["identify", decay(tmp_path, "angle", 4.0), "--known", FRICTION]) == 0
    said = capsys.readouterr().err
    assert "determines m l / J, 10.15" in said
    assert "rod.center_of_mass is known as 1.2 m, and must be less than rod.equivalent" in said


def test_a_rod_that_swings_and_moves_its_cart_tells_the_cart_too(tmp_path, capsys):
    """A rod of 0.2 kg on a cart of 0.6 kg without friction."""
    fit = tmp_path / "fit.json"
    t, angle, x = swing(12.0, cart=0.25 * 0.075 / LENGTH)
    place = written(tmp_path / "swing.csv", t=t, x=x, pitch=angle)
    known = ["--set=rod.mass=0.2", "--set=rod.center_of_mass=0.075", "--known", FRICTION]
    assert main(["identify", place, *known, "--json", str(fit)]) == 0
    assert "and moves the cart" in capsys.readouterr().err
    found = {name: one["value"] for name, one in json.loads(fit.read_text())["parameters"].items()}
    assert tuple(found) == plant_numbers.SWINGING
    assert found["cart.mass"] == pytest.approx(0.6, rel=1e-3)
    assert found["rod.inertia"] == pytest.approx(0.2 * 0.075 * (LENGTH - 0.075), rel=1e-3)


def test_a_force_that_cannot_move_the_cart_is_said(tmp_path, capsys):
    t, angle, _ = swing(12.0)
    noise = 5e-4 * np.random.default_rng(2).standard_normal(len(t))
    force = np.sin(9.0 * t)
    place = written(tmp_path / "stuck.csv", t=t, x=noise, pitch=angle, Fx=force)
    assert main(["identify", place]) == 2
    assert "its force, up to 1 N, does not move the cart: it cannot break it loose" in (
        capsys.readouterr().err
    )


def test_angles_in_degrees_are_refused(tmp_path, capsys):
    t, angle, _ = swing(12.0)
    place = written(tmp_path / "degrees.csv", t=t, pitch=np.degrees(angle))
    assert main(["identify", place]) == 2
    assert "its pitch goes to 2" in capsys.readouterr().err


def test_one_axis_with_a_force_is_fitted_like_both(run, tmp_path, capsys):
    """A motion along x of the same plant, with the columns that one axis has."""
    file, fit = tmp_path / "planar.csv", tmp_path / "fit.json"
    force = ["--set", "input.force_x=[3.0,5.0,0.0,2.0,11.0,1.0]"]
    words = ["--controller", "lqr", "--tilt", "3", "--duration", "12", *force]
    assert main(["simulate", *words, "--out", str(file), *PLANT]) == 0
    planar = changed(
        file, tmp_path, lambda c: {n: c[n] for n in ("t", "x", "qw", "qx", "qy", "qz", "Fx")}
    )
    assert main(["identify", str(planar), "--json", str(fit), "--known", FRICTION]) == 0
    found = json.loads(fit.read_text())["parameters"]
    assert found["cart.mass"]["value"] == pytest.approx(2.5, rel=1e-3)


def test_a_record_that_is_given_twice_is_refused(run, capsys):
    """Its intervals would be smaller by the square root of 2."""
    again = run.parent / ".." / run.parent.name / run.name
    assert main(["identify", str(run), str(again)]) == 2
    assert "run.csv is given twice" in capsys.readouterr().err


def test_a_design_is_for_the_loop_that_the_options_set(tmp_path, capsys):
    """Its period, the weights of its law and its observer, none of which the plant has."""
    words = ["--design", str(tmp_path / "x.yaml"), "--band", "0.5,5", "--fit", "cart.mass"]
    words += ["--duration", "10"]
    slow = ["--set", "period=0.02", "--set", "lqr.force_weight=0.1"]
    assert main(["identify", *words, *slow, "--set", "observer.sensors=encoders"]) == 0
    assert "beside lqr: force up to" in capsys.readouterr().out
    assert main(["identify", *words, *slow, "--set", "faults.command.delay=0.2"]) == 2
    assert "rod" in capsys.readouterr().err


def test_what_the_motion_does_not_determine_is_said(run, capsys):
    words = ["--fit", "cart.mass,rod.mass,rod.inertia,gain"]
    assert main(["identify", str(run), *words]) == 0
    assert "the motion does not determine these together" in capsys.readouterr().err


def test_the_report_tells_numbers_experiments_and_margins(run, tmp_path, capsys):
    page = tmp_path / "fit.html"
    words = ["--fit", "cart.mass,rod.mass,rod.inertia,gain", "--report", str(page)]
    assert main(["identify", str(run), *words]) == 0
    text = page.read_text(encoding="utf-8")
    assert "0 of 4" in text and "the rod on a scale, with --set rod.mass" in text
    assert "larger tilts at 1 to 5 Hz" not in text  # tells nothing of a factor that all share
    assert text.count("data:image/svg+xml") == 2  # no changes without intervals
    assert text.count("rbdyn_ros identify ") == 2  # what wrote it, in its metadata and to be read
    assert "new law, plant as fitted" in text


def test_the_excitation_is_one_of_the_controller_node(tmp_path, capsys):
    from rbdyn_ros.identification import excitation
    from rbdyn_ros.parameters.controller import Excitation
    from rbdyn_ros.parameters.yaml_file import read_files

    out = tmp_path / "excitation.yaml"
    assert (
        main(
            [
                "identify",
                "--design",
                str(out),
                "--band",
                "0.5,5",
                "--axis",
                "y",
                "--duration",
                "20",
            ]
        )
        == 0
    )
    told = capsys.readouterr().out
    assert "Hz along y, amplitude" in told
    assert "beside lqr: force up to" in told and f"wrote {out}" in told
    found = {
        name: value for name, (value, _) in read_files([out], ("pendulum_controller",)).items()
    }
    assert set(found) == {f"excitation.{name}" for name in Excitation._fields}
    given = Excitation(**{name: found[f"excitation.{name}"] for name in Excitation._fields})
    sine = excitation.of(given, 0.002)
    assert (sine.period, given.axis) == (20.0, "y")  # the record's: it does not repeat
    assert sine.frequencies[0] == pytest.approx(0.5)
    assert "repeated" not in told


def test_a_design_for_numbers_that_are_none_gets_a_sentence(tmp_path, capsys):
    words = ["--design", str(tmp_path / "x.yaml"), "--fit", "cart.mas", "--band", "1,5"]
    assert main(["identify", *words]) == 2
    assert "cart.mas cannot be fitted" in capsys.readouterr().err


def test_without_a_recording_and_a_design_nothing_is_to_be_done(capsys):
    assert main(["identify"]) == 2
    assert "it needs a RECORDING to fit, --live or --design FILE" in capsys.readouterr().err
