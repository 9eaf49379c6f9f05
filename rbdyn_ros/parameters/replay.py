"""The replay node: which bag, how fast, and what of it."""

from rbdyn_ros.schema import Parameter

REPLAY = (
    Parameter(
        "replay.path",
        "",
        "",
        "Names the folder of the bag, as the recorder or ~/dump wrote it.",
        "string",
        read_only=True,
    ),
    Parameter(
        "replay.rate",
        1.0,
        "",
        "Sets how many recorded seconds are played per second.",
        low=0.0,
        low_open=True,
        high=1000.0,
    ),
    Parameter(
        "replay.loop",
        False,
        "",
        "Begins again at the end of the bag; time then steps back.",
        "bool",
    ),
    Parameter(
        "replay.start_paused",
        False,
        "",
        "Makes the replay wait for a call of ~/pause with false.",
        "bool",
        read_only=True,
    ),
    Parameter(
        "replay.what",
        "plant",
        "",
        "Chooses what is played: only what the plant published, so that a controller can answer "
        "anew, or everything.",
        "string",
        choices=("plant", "all"),
        read_only=True,
    ),
    Parameter(
        "replay.topics",
        (),
        "",
        "Plays only these topics, named with their namespace; if empty, everything that "
        "replay.what allows.",
        "string_array",
        read_only=True,
    ),
)
