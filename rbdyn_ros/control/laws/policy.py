"""A small neural network as a law: what was learned in the Gymnasium environments.

    s = (x - r, k, x', k') / scale,    z_1 = f(s W_0 + b_0), ...,    a = z_n W_n + b_n in [-1, 1]
    u = force a, its norm cut at the limit,    f(z) = z / (1 + |z|)

k is the rod's direction, r the reference; x - r is cut at `REACH`, so that a far reference asks
for nothing that was never learned. The weights are in an .npz file (doc/control.md).
"""

import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from rbdyn_ros.control.admission import admit
from rbdyn_ros.control.options import checked
from rbdyn_ros.kernel import kernel, part
from rbdyn_ros.mechanics.pendulum import sphere_state
from rbdyn_ros.numerics.saturation import saturated
from rbdyn_ros.parameters.shipped import config
from rbdyn_ros.schema import spec
from rbdyn_ros.types import Array, State

KINDS = ("balance",)  # what it is meant for, in the words of evaluation.suite
INPUTS, OUTPUTS, WIDEST = 10, 2, 256
REACH = 2.0  # [m]
SUFFIX = ".npz"


class Options(NamedTuple):
    """Which network, and what the plant allows."""

    file: Annotated[
        str,
        spec(
            "Names the weights: balance, which comes with the package, or the path of an .npz "
            "file."
        ),
    ] = "balance"
    period: float = 0.002  # [s]
    force_limit: float = 20.0  # [N]


class Network(NamedTuple):
    """The numbers of a network."""

    weights: Array  # W_0 row by row, b_0, W_1, ...
    sizes: Array  # (layers + 1,) of its inputs, of each layer's outputs
    scale: Array  # (10,) of the inputs
    force: float  # [N] that an output of 1 asks for


class Policy:
    """The network's answer to a state."""

    def __init__(self, network: Network, force_limit: float):
        self.network = network
        self.force_limit = force_limit  # [N]
        self._work = np.zeros((2, WIDEST))

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world].

        ValueError names what is not finite, of another shape or not unit.
        """
        q, v, r = admit(state, reference)
        return np.array(_command(q, v, r, self.network, self._work, self.force_limit))

    def reset(self) -> None:
        """Nothing is remembered."""


def design(model, params, options: Options) -> Policy:
    """The law of the file. ValueError if there is none, or it is no network."""
    file, _, force_limit = checked("policy", options)
    return Policy(read(find(file)), force_limit)


def find(name: str) -> Path:
    """The file of that name. ValueError, with the names that there are."""
    if name.endswith(SUFFIX):
        return Path(name).expanduser()
    folder = config("policies")
    if not (folder / f"{name}{SUFFIX}").exists():
        known = ", ".join(sorted(path.stem for path in folder.glob(f"*{SUFFIX}")))
        raise ValueError(
            f"policy.file is '{name}'; known are {known}, and the path of a file that ends in "
            f"{SUFFIX}"
        )
    return folder / f"{name}{SUFFIX}"


def read(path: Path) -> Network:
    """The network of a file with W0, b0, W1, b1, ..., scale and force. ValueError."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: np.asarray(file[name]) for name in file.files}
    except (OSError, ValueError, EOFError) as error:
        reason = getattr(error, "strerror", None) or "it is no .npz file of numbers"
        raise ValueError(f"{path}: {reason}") from None
    count = sum(name.startswith("W") for name in arrays)
    wanted = ["scale", "force", *(f"{letter}{n}" for n in range(count) for letter in "Wb")]
    for name in wanted if count else ["W0"]:
        if name not in arrays:
            raise ValueError(f"{path}: {name} is missing; a policy has W0, b0, ..., scale, force")
        if arrays[name].dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{path}: {name} must be floating-point numbers, each finite")
    sizes = [INPUTS]
    for n in range(count):
        W, b = arrays[f"W{n}"], arrays[f"b{n}"]
        if W.ndim != 2 or W.shape[0] != sizes[-1] or b.shape != (W.shape[1],):
            raise ValueError(
                f"{path}: W{n} has shape {W.shape} and b{n} {b.shape}; they must be "
                f"({sizes[-1]}, n) and (n,)"
            )
        sizes.append(W.shape[1])
    if sizes[-1] != OUTPUTS or max(sizes) > WIDEST:
        raise ValueError(
            f"{path}: its layers have {sizes[1:]} outputs; the last one must have {OUTPUTS}, the "
            f"others at most {WIDEST}"
        )
    scale, force = arrays["scale"].astype(float), arrays["force"].astype(float)
    if scale.shape != (INPUTS,) or not (scale > 0.0).all() or force.shape or force <= 0.0:
        raise ValueError(f"{path}: scale must be {INPUTS} numbers > 0, force one")
    layers = [arrays[f"{letter}{n}"].ravel() for n in range(count) for letter in "Wb"]
    return Network(np.concatenate(layers).astype(float), np.array(sizes), scale, float(force))


def write(path: Path, network: Network, **notes: str) -> None:
    """Write a network, and in words what it took."""
    arrays: dict[str, Any] = {**notes, "scale": network.scale, "force": np.float64(network.force)}
    place = 0
    for n, (inputs, outputs) in enumerate(zip(network.sizes, network.sizes[1:])):
        for name, shape in ((f"W{n}", (inputs, outputs)), (f"b{n}", (outputs,))):
            size = math.prod(shape)
            arrays[name] = network.weights[place : place + size].reshape(shape).astype(np.float32)
            place += size
    np.savez(path, **arrays)


@part
def evaluate(weights, sizes, source, target):
    """The answer a (2,) of a network to its inputs in `source`, which it writes over, as it does
    over `target`: both as long as the widest layer.
    """
    place, layers = 0, len(sizes) - 1
    for layer in range(layers):
        inputs, outputs = sizes[layer], sizes[layer + 1]
        for m in range(outputs):
            target[m] = weights[place + inputs * outputs + m]
        for n in range(inputs):
            for m in range(outputs):
                target[m] += weights[place + n * outputs + m] * source[n]
        place += (inputs + 1) * outputs
        for m in range(outputs):
            source[m] = target[m] / (1.0 + abs(target[m]))
    return min(max(target[0], -1.0), 1.0), min(max(target[1], -1.0), 1.0)


@kernel
def _command(q, v, r, network, work, limit):
    """(u_x, u_y)."""
    k, dk, x, dx = sphere_state.of_state(q, v)
    s = work[0]
    s[0], s[1] = saturated(x[0] - r[0], x[1] - r[1], REACH)
    s[2], s[3], s[4] = k
    s[5], s[6] = dx
    s[7], s[8], s[9] = dk
    for n in range(INPUTS):
        s[n] /= network.scale[n]
    a = evaluate(network.weights, network.sizes, s, work[1])
    return saturated(network.force * a[0], network.force * a[1], limit)
