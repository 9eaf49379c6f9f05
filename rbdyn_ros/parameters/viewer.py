"""The live view in the browser: where it is, how fast it is drawn, and the spring that pulls."""

from rbdyn_ros.parameters.simulator import fixed
from rbdyn_ros.schema import setting

LOOPBACK = ("127.0.0.1", "localhost", "::1")  # addresses of this machine alone


VIEWER = (
    fixed(
        "host",
        "127.0.0.1",
        "",
        "Sets the address at which the page is served; any other than 127.0.0.1 lets whoever "
        "reaches it push the pendulum and change its parameters.",
    ),
    fixed(
        "port",
        8080,
        "",
        "Sets the port of the page; the next one that is free is taken where it is in use.",
        low=1,
        high=65535,
    ),
    fixed(
        "rate",
        60.0,
        "Hz",
        "Limits how many times per second the page is drawn.",
        low=1.0,
        high=120.0,
    ),
    fixed("shadows", True, "", "Draws shadows; false is lighter for a weak graphics card."),
    setting(
        "grab.stiffness",
        3.0,
        "N/m",
        "Sets the stiffness of the spring from the grabbed point to the pointer.",
        low=0.0,
        high=1000.0,
    ),
    setting(
        "grab.force_limit", 1.5, "N", "Limits the force of that spring.", low=0.0, high=1000.0
    ),
    setting(
        "arrow.scale", 0.05, "m/N", "Sets how long the arrow of a force is.", above=0.0, high=1.0
    ),
    setting(
        "trail.duration",
        3.0,
        "s",
        "Sets how long the path of the tip stays; 0 draws none.",
        low=0.0,
        high=60.0,
    ),
)
