"""What a model file may say, group by group: each key once, with its unit, range and sentence."""

from rbdyn_ros.mechanics import shapes
from rbdyn_ros.mechanics.contact import restitution
from rbdyn_ros.mechanics.description import scene
from rbdyn_ros.schema import Parameter


def _vector(name: str, unit: str, sentence: str, length: int = 3) -> Parameter:
    return Parameter(name, None, unit, sentence, kind="float_array", length=(length,))


def _positive(name: str, unit: str, sentence: str) -> Parameter:
    return Parameter(name, None, unit, sentence, low=0.0, low_open=True)


def _at_least_zero(name: str, unit: str, sentence: str) -> Parameter:
    return Parameter(name, None, unit, sentence, low=0.0)


def _word(name: str, sentence: str, choices: tuple[str, ...] = ()) -> Parameter:
    return Parameter(name, None, "", sentence, kind="string", choices=choices)


def _yes_or_no(name: str, sentence: str) -> Parameter:
    return Parameter(name, None, "", sentence, kind="bool")


def _table(*parameters: Parameter) -> dict[str, Parameter]:
    return {parameter.name: parameter for parameter in parameters}


SHAPES = {  # of bodies: the function, and the sizes that it needs
    "sphere": (shapes.sphere, ("radius",)),
    "box": (shapes.box, ("size",)),
    "cylinder": (shapes.cylinder, ("radius", "length")),
    "capsule": (shapes.capsule, ("radius", "length")),
    "rod": (shapes.rod, ("length",)),
    "none": (shapes.Body, ("mass", "inertia")),
}
TOP = _table(
    _word("title", "Names the model in lists and pictures."),
    _vector("gravity", "m/s^2", "Sets the acceleration of free fall."),
    _yes_or_no("close", "Moves the bodies at the start so that the joints are closed."),
    _word("urdf", "Names the URDF whose links and joints the model begins with."),
    _word("view", "Chooses the plane of the picture.", ("xz", "yz", "xy")),
    _word("impact_law", "Chooses the law of impacts.", restitution.LAWS),
    _yes_or_no("whole_steps", "Keeps impacts from splitting a step."),
    _positive("step", "s", "Sets the step of the integrator."),
    _positive("duration", "s", "Sets the simulated time."),
    _positive("every", "s", "Sets the simulated time from row to row."),
)
PLACE = (
    _vector("position", "m", "Sets the position, in the world or in the body that carries it."),
    _vector("orientation", "", "Sets the attitude as a quaternion w, x, y, z.", 4),
    _vector("rpy", "rad", "Sets the attitude as roll, pitch and yaw."),
)
SIZES = (
    _vector("size", "m", "Sets the lengths of the edges.")._replace(low=0.0, low_open=True),
    _positive("radius", "m", "Sets the radius."),
    _positive("length", "m", "Sets the length along the axis."),
)
LAW = (  # of a contact, or of a geom among colliders
    _at_least_zero("friction", "", "Sets the coefficient of Coulomb friction."),
    _at_least_zero("restitution", "", "Sets the coefficient of restitution.")._replace(high=1.0),
)
_BETWEEN = Parameter(
    "between", None, "", "Names the two parts that it joins.", kind="string_array", length=(2,)
)
_VELOCITY = _vector("velocity", "m/s", "Sets the velocity, in the world.")
BODY = _table(
    _word("shape", "Chooses the shape, of which the inertia follows.", tuple(SHAPES)),
    _positive("mass", "kg", "Sets the mass."),
    _positive("density", "kg/m^3", "Sets the density, in the place of the mass."),
    _vector("inertia", "kg m^2", "Sets the principal moments of inertia."),
    *SIZES,
    *PLACE,
    _vector("from", "m", "Sets one end of the axis, in the place of position and attitude."),
    _vector("to", "m", "Sets the other end of the axis."),
    _VELOCITY,
    _vector("angular_velocity", "rad/s", "Sets the angular velocity in the body's frame."),
    _vector("held", "", "Holds the body, where 1, along x, y, z and about them.", 6),
    *LAW,
)
JOINT = _table(
    _word("type", "Chooses the kind of joint.", tuple(scene.KINDS)),
    _BETWEEN,
    _vector("point", "m", "Sets the point of the joint in the world, at the start."),
    _vector("point_a", "m", "Sets the point of the joint on the first body, in its frame."),
    _vector("point_b", "m", "Sets the point of the joint on the second body, in its frame."),
    _vector("axis", "", "Sets the axis of the joint."),
    _vector("axis_b", "", "Sets the axis of the joint on the second body."),
)
GEOM = _table(
    _word("shape", "Chooses the shape that can touch.", tuple(scene.SIZES)),
    _word("body", "Names the body that carries it; without one it is part of the world."),
    *SIZES,
    *PLACE,
    _vector("normal", "m", "Sets the normal of a plane."),
    _vector("point", "m", "Sets a point of a plane."),
    _VELOCITY,
    *LAW,
)
CONTACT = _table(_BETWEEN, *LAW)
SPRING = _table(
    _BETWEEN,
    _word("hinge", "Names the hinge about which it turns."),
    _vector("start", "m", "Sets the point on the first body, in the world at the start."),
    _vector("end", "m", "Sets the point on the second body, in the world at the start."),
    _at_least_zero("stiffness", "", "Sets the stiffness, in N/m or N m/rad."),
    _at_least_zero("length", "m", "Sets the length without a force."),
    Parameter("angle", None, "rad", "Sets the angle without a torque."),
    _at_least_zero("damping", "", "Sets the damping, in N s/m or N m s/rad."),
)
COLLIDERS = _table(*LAW)  # of all geoms that do not give their own
GROUPS = {"bodies": BODY, "joints": JOINT, "geoms": GEOM, "contacts": CONTACT, "springs": SPRING}
STARTS = _table(
    Parameter("positions", None, "rad", "Sets the positions of a URDF's joints."),
    Parameter("rates", None, "rad/s", "Sets the rates of a URDF's joints."),
)
