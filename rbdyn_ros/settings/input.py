"""The force that acts on the cart from the start, known in advance: sums of sines."""

from rbdyn_ros.settings.parameter import Parameter

_SINES = "sines a sin(w t + p) that push the cart along {}: a flat list of amplitude a [N], angular frequency w [rad/s], phase p [rad]"
_WAVES = dict(kind="float_array", length=range(0, 3001, 3))

INPUT = (
    Parameter("input.force_x", (), "", _SINES.format("x"), **_WAVES),
    Parameter("input.force_y", (), "", _SINES.format("y"), **_WAVES),
)
