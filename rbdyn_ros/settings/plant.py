"""The physics: gravity, cart, rod and joint. Read by the simulator, by the controllers' design and by the URDF."""

from rbdyn_ros.settings.parameter import Parameter

PLANT = (
    Parameter("gravity", 9.81, "m/s^2", "acceleration of gravity, along -z", low=0.0),
    Parameter("cart.mass", 2.0, "kg", "mass of the cart", low=0.0),
    Parameter("cart.damping", 0.0, "N s/m", "viscous friction of the cart", low=0.0),
    Parameter("cart.fixed", False, "", "hold the cart: the joint becomes a fixed pivot", "bool"),
    Parameter("cart.force_limit", 20.0, "N", "largest norm of a commanded force", low=0.0),
    Parameter("cart.travel", 2.0, "m", "how far the cart may go from the origin along x and along y", low=0.0, low_open=True),
    Parameter("rod.mass", 1.0, "kg", "mass of the rod", low=0.0, low_open=True),
    Parameter("rod.length", 2.4, "m", "length of the rod, from the joint to the tip", low=0.0, low_open=True),
    Parameter("rod.radius", 0.02, "m", "radius of the rod", low=0.0, low_open=True),
    Parameter(
        "rod.center_of_mass",
        (),
        "m",
        "distance from the joint to the centre of mass along the rod, or the point [0, 0, distance]; half the length if absent",
        "float_array",
        length=(0, 1, 3),
    ),
    Parameter(
        "rod.inertia",
        (),
        "kg m^2",
        "principal moments about the centre of mass, the third along the rod; a solid cylinder's if absent",
        "float_array",
        low=0.0,
        low_open=True,
        length=(0, 3),
    ),
    Parameter("joint.damping", 0.0, "N m s/rad", "viscous friction of the ball joint, equal about every axis", low=0.0),
)
