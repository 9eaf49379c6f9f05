"""What can be wrong, in numbers. Zero everywhere is a perfect world."""

from typing import NamedTuple


class Noise(NamedTuple):
    """Standard deviations of white noise, drawn anew at each instant."""

    cart: float = 0.0  # position of the cart, each axis [m]
    cart_velocity: float = 0.0  # [m/s]
    angle: float = 0.0  # each angle of the gimbal [rad]
    rate: float = 0.0  # angular velocity of the rod, each body axis [rad/s]
    gyroscope: float = 0.0  # the same as the IMU tells it [rad/s]
    accelerometer: float = 0.0  # specific force [m/s^2]


class Bias(NamedTuple):
    """Constant errors, added."""

    cart: tuple = (0.0, 0.0)  # x y [m]
    angle: tuple = (0.0, 0.0, 0.0)  # roll pitch spin [rad]
    gyroscope: tuple = (0.0, 0.0, 0.0)  # body [rad/s]
    accelerometer: tuple = (0.0, 0.0, 0.0)  # body [m/s^2]


class Encoder(NamedTuple):
    """How finely positions are read."""

    cart: float = 0.0  # [m] from one count to the next; 0 is exact
    gimbal: float = 0.0  # counts per turn of each angle; 0 is exact


class Drive(NamedTuple):
    """What the cart's drive makes of a force."""

    dead_band: float = 0.0  # d [N]
    saturation: float = 0.0  # s [N] norm; 0 is none
    rate_limit: float = 0.0  # r [N/s]; 0 is none
    lag: float = 0.0  # T [s] time constant
    loss: float = 0.0  # the part that never reaches the cart [0..1]


class Mismatch(NamedTuple):
    """By how much of itself a true number exceeds the declared one: true = (1 + mismatch) declared."""

    gravity: float = 0.0
    cart_mass: float = 0.0
    cart_damping: float = 0.0
    rod_mass: float = 0.0
    rod_length: float = 0.0
    center_of_mass: float = 0.0
    inertia: float = 0.0
    joint_damping: float = 0.0


class Faults(NamedTuple):
    """Everything that can be wrong between a law and its plant."""

    command_delay: float = 0.0  # [s]
    command_jitter: float = 0.0  # [s] largest further delay, uniform from 0
    command_drop: float = 0.0  # probability
    command_duplicate: float = 0.0  # probability
    state_delay: float = 0.0  # [s]
    state_drop: float = 0.0  # probability
    state_freeze: float = 0.0  # probability
    noise: Noise = Noise()
    bias: Bias = Bias()
    encoder: Encoder = Encoder()
    actuator: Drive = Drive()
    mismatch: Mismatch = Mismatch()
