"""A bag that is cut anywhere is read as far as its records are whole."""

import struct
from pathlib import Path

import pytest
from rosbags.rosbag2 import Reader, StoragePlugin, Writer
from rosbags.typesys import Stores, get_typestore

from rbdyn_ros import __main__ as program
from rbdyn_ros.ros.recording.bag_repair import MAGIC, repair, sound_end

CHUNKS, EACH = 5, 20


def killed(folder: Path) -> Path:
    """A bag as a recorder leaves it that is killed: saved chunks, not quite in the order of time;
    no index, no metadata.yaml.
    """
    store = get_typestore(Stores.LATEST)
    writer = Writer(folder, version=9, storage_plugin=StoragePlugin.MCAP)
    writer.open()
    channels = [
        writer.add_connection(topic, "std_msgs/msg/String", typestore=store)
        for topic in ("/a", "/b")
    ]
    for k in range(CHUNKS * EACH):
        text = f"{k}".encode() + b"\0"
        writer.write(
            channels[k % 2], 10**9 + (k ^ 1), b"\0\1\0\0" + struct.pack("<I", len(text)) + text
        )
        if k % EACH == EACH - 1:
            writer.storage.close_chunk()
    writer.storage.bio.close()
    return folder


def read(folder: Path) -> list:
    """(topic, stamp, data) of a whole bag."""
    with Reader(folder) as reader:
        return [
            (connection.topic, stamp, bytes(data)) for connection, stamp, data in reader.messages()
        ]


def test_a_bag_without_an_end_is_read_to_its_last_message(tmp_path):
    bag = killed(tmp_path / "bag")
    before = (bag / "bag.mcap").read_bytes()
    saved = repair(bag, tmp_path / "new")
    assert saved.messages == CHUNKS * EACH and saved.topics == 2 and saved.lost == 0
    messages = read(tmp_path / "new")
    assert [stamp for _, stamp, _ in messages] == [10**9 + k for k in range(CHUNKS * EACH)]
    assert messages[99] == ("/a", 10**9 + 99, b"\0\1\0\0" + struct.pack("<I", 3) + b"98\0")
    assert (bag / "bag.mcap").read_bytes() == before and not (bag / "metadata.yaml").exists()


@pytest.mark.parametrize("part", [0.15, 0.5, 0.77, 0.99])
def test_a_record_that_is_cut_is_left_out(tmp_path, part):
    bag = killed(tmp_path / "bag")
    file = bag / "bag.mcap"
    whole = file.read_bytes()
    file.write_bytes(whole[: int(part * len(whole))])
    try:
        saved = repair(bag, tmp_path / "new")
    except ValueError as error:
        assert (
            "no complete message" in str(error) and part < 0.25
        )  # the first chunk has the definitions in it
        return
    assert saved.messages % EACH == 0 and 0 < saved.messages < CHUNKS * EACH + 1
    assert len(read(tmp_path / "new")) == saved.messages
    assert sound_end(file) + saved.lost == file.stat().st_size


@pytest.mark.parametrize("size", [100, 700])
def test_a_chunk_that_is_damaged_loses_its_rest_and_says_so(tmp_path, size):
    """Zeros in a file are what a system that lost its power had not yet written."""
    file = killed(tmp_path / "bag") / "bag.mcap"
    data = bytearray(file.read_bytes())
    begin = data.index(b"41\0")  # in the third chunk, which has the messages 40 to 59
    data[begin : begin + size] = bytes(size)
    file.write_bytes(data)
    saved, kept = repair(tmp_path / "bag", tmp_path / "new"), read(tmp_path / "new")
    assert saved.messages == len(kept) and saved.lost > 0
    assert [stamp - 10**9 for _, stamp, _ in kept] == [*range(42), *range(60, 100)]


def test_what_cannot_be_repaired_is_a_sentence(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    (tmp_path / "whole").mkdir()
    (tmp_path / "whole" / "metadata.yaml").touch()
    (tmp_path / "text").mkdir()
    (tmp_path / "text" / "a.mcap").write_text("no MCAP")
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "a.mcap").write_bytes(MAGIC)
    cases = {
        "nowhere": "not the folder of a bag",
        "empty": "has 0 files",
        "whole": "nothing to repair",
        "text": "not an MCAP file",
        "begun": "are inconsistent",
    }
    for name, words in cases.items():
        assert program.main(["repair", str(tmp_path / name)]) == 2
        said = capsys.readouterr().err
        assert (
            words in said
            and said.count("\n") == 1
            and not (tmp_path / f"{name}_repaired").exists()
        )


def test_the_command_repairs_beside_the_old_bag_and_never_over_another(tmp_path, capsys):
    bag = killed(tmp_path / "bag")
    assert program.main(["repair", str(bag)]) == 0
    assert f"{CHUNKS * EACH} messages of 2 topics" in capsys.readouterr().out
    assert len(read(tmp_path / "bag_repaired")) == CHUNKS * EACH
    assert program.main(["repair", str(bag)]) == 2
    assert "choose another" in capsys.readouterr().err


@pytest.mark.parametrize("name", [".", "../bag/."])
def test_the_bag_may_be_the_working_folder(tmp_path, capsys, monkeypatch, name):
    """`repair .` raised: the name of that path is empty."""
    monkeypatch.chdir(killed(tmp_path / "bag"))
    assert program.main(["repair", name]) == 0
    assert len(read(tmp_path / "bag_repaired")) == CHUNKS * EACH
