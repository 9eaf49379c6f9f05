"""The live view in the browser: where it is, how fast it is drawn, and the spring that pulls."""

from typing import Annotated, NamedTuple

from rbdyn_ros.schema import spec, table

LOOPBACK = ("127.0.0.1", "localhost", "::1")  # addresses of this machine alone


class Viewer(NamedTuple):
    """The live view."""

    host: Annotated[
        str,
        spec(
            "Sets the address at which the page is served; any other than 127.0.0.1 lets whoever "
            "reaches it push the pendulum and change its parameters.",
            read_only=True,
        ),
    ] = "127.0.0.1"
    port: Annotated[
        int,
        spec(
            "Sets the port of the page; the next one that is free is taken where it is in use.",
            low=1,
            high=65535,
            read_only=True,
        ),
    ] = 8080
    rate: Annotated[
        float,
        spec(
            "Limits how many times per second the page is drawn.",
            "Hz",
            low=1.0,
            high=120.0,
            read_only=True,
        ),
    ] = 60.0
    shadows: Annotated[
        bool,
        spec("Draws shadows; false is lighter for a weak graphics card.", read_only=True),
    ] = True
    grab_stiffness: Annotated[
        float,
        spec(
            "Sets the stiffness of the spring from the grabbed point to the pointer.",
            "N/m",
            "grab.stiffness",
            low=0.0,
            high=1000.0,
        ),
    ] = 3.0
    grab_force_limit: Annotated[
        float,
        spec("Limits the force of that spring.", "N", "grab.force_limit", low=0.0, high=1000.0),
    ] = 1.5
    arrow_scale: Annotated[
        float,
        spec("Sets how long the arrow of a force is.", "m/N", "arrow.scale", above=0.0, high=1.0),
    ] = 0.05
    trail_duration: Annotated[
        float,
        spec(
            "Sets how long the path of the tip stays; 0 draws none.",
            "s",
            "trail.duration",
            low=0.0,
            high=60.0,
        ),
    ] = 3.0


VIEWER = table(Viewer)
