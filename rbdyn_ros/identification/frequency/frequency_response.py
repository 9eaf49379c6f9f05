"""The frequency response of a loop: broken where the force enters the plant, with its margins, and
broken at the measurements.

The law gives u_c, the excitation d is added, u = u_c + d acts. With the plant P and the law C,
both as the loop is run (sampled, held, delayed), and L = C P,

    u_c = -L u,   u = S d,   u_c = -T d,   S = (1 + L)^-1,   T = L (1 + L)^-1.          (F.2)

Two runs, one with d along x and one along y, give two columns each of the spectra U_c and U at
every frequency of d, and

    L = -U_c U^-1          (F.3)

for both axes together, 2 x 2. The noise of sensors is in U_c and U, but not in d: with the mean of
the periods in the place of the spectra (F.3) is the ratio of the cross spectra with d, which has
no bias from noise in the loop. The same runs give the plant from u to any output y, P = Y U^-1.

Margins are those of one axis, L(j w), (F.4) to (F.6) of `control.margins`. For the loop of 2 x 2,
|S - 1/2| is the largest singular value of S - I/2: any factor or phase within the bounds of
(F.6) in both axes at once.

At the measurements an error n of one output y_j, a place of the cart or a tilt, is added to what
the law gets; its rate is added to the rate of that output, as if the sensor itself were moved by
held forces:

    y_j + n,   y'_j + n',   n' = D n,   D(z) = (2 / h) (z - 1) / (z + 1)                   (F.9)

D is the rate of a motion whose acceleration is constant in every period, so that y' = D y holds
for the plant, too. With the law C (2 x 4) from the outputs to the force and the plant P (4 x 2),

    u = -C (y + n),   y = P u,   S_o = (1 + L_o)^-1,   T_o = L_o S_o,   L_o = P C          (F.10)

Four runs, one error each, give the columns of the spectra U (2 x 4) and Y (4 x 4), from which a
fifth run without an error, but with the same noise, is subtracted:

    S_o = 1 + Y / N,   C = -(U / N) S_o^-1,   P = Y U^H (U U^H)^-1,   L = C P.             (F.11)

Motion without the excitation, by noise or a drift, is in neither as far as the loop is linear. P
follows from four columns for two unknown ones, so Y - P U shows how far that is. L is the loop at
the force, which (F.3) measures in another way. L_o has the rank 2, and its singular
values depend on the units of y; the loop of one output alone, all others closed, does not:

    l_j = 1 / S_o,jj - 1.                                                                  (F.12)

Source: K. J. Astrom and R. M. Murray, Feedback Systems, 2nd ed. (2021), chapters 10 and 13; S.
Skogestad and I. Postlethwaite, Multivariable Feedback Control, 2nd ed. (2005), sections 3.2 and
9.2.
"""

import math
from typing import NamedTuple

import numpy as np

from rbdyn_ros.control.linear_controller import LinearController, plant_response
from rbdyn_ros.identification.excitation import Multisine
from rbdyn_ros.types import Array


class Response(NamedTuple):
    """The frequency responses of a loop at the plant's input, for m axes of the force: 2, or the
    one along which it was excited.
    """

    frequency: Array  # (n,) [Hz], ascending
    loop: Array  # L (n, m, m)
    plant: Array  # P (n, 4, m) from the force [N] to x, y [m] and th_x, th_y [rad]
    coherence: Array  # (n, m) of each axis's u_c with d, over the periods; 1 without noise
    axes: str = "xy"

    @property
    def sensitivity(self) -> Array:
        """The sensitivity S of (F.2), (n, m, m)."""
        return np.linalg.inv(np.eye(len(self.axes)) + self.loop)

    @property
    def complementary(self) -> Array:
        """The complementary sensitivity T of (F.2), (n, m, m)."""
        return self.loop @ self.sensitivity


def estimate(
    sine: Multisine, command: Array, applied: Array, outputs: Array, axes: str = "xy"
) -> Response:
    """Return the response from p whole periods of m runs, with the excitation along each of the
    `axes`.

    `command` u_c and `applied` u are (m, p, N, 2) [N], `outputs` (m, p, N, 4). From one run alone,
    the response of that axis is computed as if no force acted along the other. Raise ValueError
    where the law's force along an axis is zero.
    """
    own = ["xy".index(axis) for axis in axes]
    U_c, U, Y = (
        np.fft.rfft(signal, axis=2)[:, :, sine.lines]
        for signal in (command[..., own], applied[..., own], outputs)
    )
    for i, axis in enumerate(axes):
        if not U_c[..., i].any():
            raise ValueError(f"the law's force along {axis} does not answer the excitation")
    means = [np.moveaxis(spectra.mean(axis=1), 0, -1) for spectra in (U_c, U, Y)]  # (n, ..., m)
    inverse = np.linalg.inv(means[1])
    along = np.stack([U_c[run, :, :, run] for run in range(len(axes))])  # (m, p, n)
    coherence = _coherence(along, 0.0)
    return Response(sine.frequencies, -means[0] @ inverse, means[2] @ inverse, coherence, axes)


def _coherence(along: Array, silent: float) -> Array:
    """Return the coherence (n, m) of spectra (m, p, n) over p periods, `silent` without power."""
    power, mean = np.mean(np.abs(along) ** 2, axis=1), np.abs(along.mean(axis=1)) ** 2
    return np.divide(mean, power, out=np.full_like(power, silent), where=power > 0.0).T


def predict(
    A: Array, B: Array, controller: LinearController, h: float, frequency: Array, tau: float = 0.0
) -> Array:
    """Return L (n,) of u = -K(z) e for e_{k+1} = A e_k + B u_k, in steps of h [s], with a dead
    time tau [s]:

    L(z) = K(z) (z - A)^-1 B exp(-j w tau),  z = exp(j w h).          (F.7)
    """
    turn = 2j * math.pi * frequency
    return controller.loop(A, B, np.exp(turn * h)) * np.exp(-turn * tau)


OUTPUTS = ("cart_x", "cart_y", "tilt_x", "tilt_y")  # y: x, y [m], th_x, th_y [rad]


class OutputResponse(NamedTuple):
    """The frequency responses of a loop to errors n of its outputs."""

    frequency: Array  # (n,) [Hz], ascending
    sensitivity: Array  # S_o (n, 4, 4)
    force: Array  # U / N (n, 2, 4) [N/m, N/rad]
    coherence: Array  # (n, 4) of the force along the axis of each error with that error

    @property
    def loops(self) -> Array:
        """The loops l_j (n, 4) of (F.12)."""
        return 1.0 / np.diagonal(self.sensitivity, axis1=1, axis2=2) - 1.0

    @property
    def controller(self) -> Array:
        """The controller C (n, 2, 4) of (F.11)."""
        return -self.force @ np.linalg.inv(self.sensitivity)

    @property
    def plant(self) -> Array:
        """The plant P (n, 4, 2) of (F.11)."""
        adjoint = np.conj(np.swapaxes(self.force, 1, 2))
        return (self.sensitivity - np.eye(4)) @ adjoint @ np.linalg.inv(self.force @ adjoint)

    @property
    def misfit(self) -> Array:
        """The difference of Y and P U (n,), as a part of Y: 0 where the loop is linear."""
        Y = self.sensitivity - np.eye(4)
        size = np.linalg.norm(Y, axis=2)
        rest = np.linalg.norm(Y - self.plant @ self.force, axis=2)
        return np.divide(rest, size, out=np.zeros_like(rest), where=size > 0.0).max(axis=1)

    def at_force(self) -> Response:
        """Return the loop at the force, L = C P; its coherence is the lesser of both errors of an
        axis.
        """
        coherence = self.coherence.reshape(-1, 2, 2).min(axis=1)
        return Response(self.frequency, self.controller @ self.plant, self.plant, coherence)


def derivative(frequency: Array, h: float) -> Array:
    """Return D (n,) of (F.9) at frequencies [Hz], in periods of h [s]."""
    return 2j / h * np.tan(math.pi * frequency * h)


def errors(sine: Multisine, h: float) -> tuple[Array, Array]:
    """Return n and n' of (F.9) at the instants 0, h, ... of one period (T / h,); n is (F.1)."""
    wave = sine.sample(h)
    spectrum = np.zeros(len(wave) // 2 + 1, complex)
    spectrum[sine.lines] = np.fft.rfft(wave)[sine.lines] * derivative(sine.frequencies, h)
    return wave, np.fft.irfft(spectrum, len(wave))


def estimate_outputs(sine: Multisine, h: float, force: Array, outputs: Array) -> OutputResponse:
    """Return the response from p whole periods of five runs: with an error of each output, and
    without one.

    `force` u is (5, p, N, 2) [N]; `outputs` y (5, p, N, 4) are the measurements before the error
    was added. Raise ValueError where the force along an axis does not depend on any error.
    """
    N = np.fft.rfft(sine.sample(h))[sine.lines]
    U, Y = (
        np.fft.rfft(signal[:4] - signal[4:], axis=2)[:, :, sine.lines]
        for signal in (force, outputs)
    )
    for i, axis in enumerate("xy"):
        if not U[..., i].any():
            raise ValueError(f"the law's force along {axis} answers no error of a measurement")
    ratios = [np.moveaxis(spectra.mean(axis=1) / N[:, None], 0, -1) for spectra in (U, Y)]
    along = np.stack([U[run, :, :, run % 2] for run in range(4)])  # (4, p, n)
    S = np.eye(4) + ratios[1]
    return OutputResponse(sine.frequencies, S, ratios[0], _coherence(along, 1.0))


def predict_outputs(
    A: Array, B: Array, controller: LinearController, h: float, frequency: Array, late: int = 0
) -> Array:
    """Return l_j (n, 2) of the cart's place and of the tilt, of one axis: of u = -K(z) (e + E_j n)
    for e_{k+1} = A e_k + B u_k, in steps of h [s], of which `late` lie between the two,

    S_o,jj = 1 - P_j K E_j / (1 + K P),   P = z^-late (z - A)^-1 B,                        (F.13)

    P_j is the row of P of that output, E_j has 1 there and D in the row of its rate.
    """
    z = np.exp(2j * math.pi * frequency * h)
    P = plant_response(A, B, z) / z[:, None] ** late
    K, D = controller.response(z), derivative(frequency, h)
    answer = K[:, ::2] + D[:, None] * K[:, 1::2]  # K E_j (n, 2)
    S = 1.0 - P[:, ::2] * answer / (1.0 + (K * P).sum(axis=1))[:, None]
    return 1.0 / S - 1.0
