"""The replay node: which bag, how fast, and what of it."""

from rbdyn_ros.settings.parameter import Parameter

REPLAY = (
    Parameter("replay.path", "", "", "folder of the bag, as the recorder or ~/dump wrote it", "string", read_only=True),
    Parameter("replay.rate", 1.0, "", "recorded seconds per second", low=0.0, low_open=True, high=1000.0),
    Parameter("replay.loop", False, "", "begin again at the end; time then steps back", "bool"),
    Parameter("replay.start_paused", False, "", "wait for ~/pause with false", "bool", read_only=True),
    Parameter(
        "replay.what",
        "plant",
        "",
        "what the plant said, so that a controller may answer anew; or everything",
        "string",
        choices=("plant", "all"),
        read_only=True,
    ),
    Parameter("replay.topics", (), "", "only these, with the namespace; everything that replay.what allows if empty", "string_array", read_only=True),
)
