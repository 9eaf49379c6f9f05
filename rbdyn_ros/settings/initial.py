"""Where the plant starts."""

from rbdyn_ros.settings.parameter import Parameter

INITIAL = (
    Parameter(
        "initial.orientation",
        (1.0, 0.0, 0.0, 0.0),
        "",
        "unit quaternion w x y z of the rod, body to world; upright is [1, 0, 0, 0]",
        "float_array",
        length=(4,),
    ),
    Parameter("initial.angular_velocity", (0.0, 0.0, 0.0), "rad/s", "of the rod, in body axes", "float_array", length=(3,)),
    Parameter("initial.cart_position", (0.0, 0.0), "m", "x and y of the cart", "float_array", length=(2,)),
    Parameter("initial.cart_velocity", (0.0, 0.0), "m/s", "velocity of the cart along x and y", "float_array", length=(2,)),
)
