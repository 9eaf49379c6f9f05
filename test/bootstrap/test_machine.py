"""A machine that lacks something hears its name and the command that installs it."""

import subprocess

import pytest

from bootstrap import machine
from bootstrap.trouble import Trouble


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """A machine with apt-get that writes down how it was called, and with nothing else."""
    apt = tmp_path / "apt-get"
    apt.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n')
    apt.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    return tmp_path


def test_a_user_is_shown_the_command(bare, monkeypatch):
    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)
    with pytest.raises(
        Trouble,
        match=r"lacks a C compiler, a C\+\+ compiler.*\n *sudo apt-get install .* gcc g\+\+$",
    ):
        machine.ensure(sourced=False)
    assert not (bare / "calls").exists()


def test_root_installs_and_looks_again(bare, monkeypatch):
    monkeypatch.setattr(machine.os, "geteuid", lambda: 0)
    with pytest.raises(Trouble, match=r"ended well, yet .* still lacks a C compiler"):
        machine.ensure(sourced=False)
    assert (bare / "calls").read_text() == "update\ninstall -y --no-install-recommends gcc g++\n"


def test_a_failing_apt_is_shown(bare, monkeypatch):
    monkeypatch.setattr(machine.os, "geteuid", lambda: 0)
    (bare / "apt-get").write_text("#!/bin/sh\necho E: no such package; exit 100\n")
    with pytest.raises(Trouble, match="E: no such package"):
        machine.ensure(sourced=False)


def test_beside_a_sourced_ros_nothing_is_compiled(bare):
    machine.ensure(sourced=True)


def test_the_venv_module_is_named_for_this_python(bare, monkeypatch):
    monkeypatch.setattr(machine.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)
    with pytest.raises(Trouble, match=r"install .* python3\.\d+-venv$"):
        machine.ensure(sourced=True)


def test_dpkg_finds_its_tools_on_a_path_without_sbin(bare, monkeypatch):
    monkeypatch.setattr(
        machine.subprocess,
        "run",
        lambda command, env, **_: (
            seen.append(env["PATH"]) or subprocess.CompletedProcess(command, 0, "")
        ),
    )
    seen = []
    machine.apt(["apt-get", "update"])
    assert "/usr/sbin" in seen[0].split(":")


INSTALL = "install -y --no-install-recommends"
PACKAGES = (
    "chromium",
    "qemu-system-arm",
    "gcc-arm-none-eabi libnewlib-arm-none-eabi",
    "clang lld wasi-libc libclang-rt-dev-wasm32",
    "npm",
)


def test_root_installs_what_only_some_tests_need(bare, monkeypatch, capsys):
    monkeypatch.setattr(machine.os, "geteuid", lambda: 0)
    machine.offer_tools()
    called = (bare / "calls").read_text().splitlines()
    assert called == ["update", *(f"{INSTALL} {packages}" for packages in PACKAGES)]
    said = capsys.readouterr().err
    assert "lacks a browser for the live view, an emulator of Arm boards" in said
    assert "are skipped" not in said


def test_without_these_tools_a_user_is_shown_the_command_and_goes_on(bare, monkeypatch, capsys):
    monkeypatch.setattr(machine.os, "geteuid", lambda: 1000)
    machine.offer_tools()
    assert not (bare / "calls").exists()
    said = capsys.readouterr().err
    assert "are skipped" in said and f"sudo apt-get {INSTALL} {' '.join(PACKAGES)}" in said


def test_a_tool_that_cannot_be_installed_keeps_no_other_away(bare, monkeypatch, capsys):
    monkeypatch.setattr(machine.os, "geteuid", lambda: 0)
    fails = "case $* in *wasi*) echo E: no wasi-libc; exit 100;; esac"
    (bare / "apt-get").write_text(f'#!/bin/sh\necho "$@" >> {bare}/calls\n{fails}\n')
    machine.offer_tools()
    said = capsys.readouterr().err
    assert (bare / "calls").read_text().splitlines()[-1] == f"{INSTALL} npm"
    assert "E: no wasi-libc" in said
    assert "lacks a compiler to WebAssembly: the tests that need it are skipped" in said


def test_tools_that_cannot_be_installed_are_shown_and_left_out(bare, monkeypatch, capsys):
    monkeypatch.setattr(machine.os, "geteuid", lambda: 0)
    (bare / "apt-get").write_text("#!/bin/sh\necho E: no such package; exit 100\n")
    machine.offer_tools()
    said = capsys.readouterr().err
    assert "E: no such package" in said and "are skipped" in said


def test_of_tools_that_are_there_nothing_is_said(bare, capsys):
    for name in ("google-chrome", "qemu-system-arm", "arm-none-eabi-gcc", "wasm-ld", "npm"):
        (bare / name).write_text("#!/bin/sh\n")
        (bare / name).chmod(0o755)
    machine.offer_tools()
    assert not capsys.readouterr().err and not (bare / "calls").exists()
