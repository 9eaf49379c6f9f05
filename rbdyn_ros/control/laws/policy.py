"""A small neural network as a law: what was learned in the Gymnasium environments.

    s = (x - r, k, x', k') / scale,    z_1 = f(s W_0 + b_0), ...,    a = z_n W_n + b_n in [-1, 1]
    u = force a, its norm cut at the limit,    f(z) = z / (1 + |z|)

k is the rod's direction, r the reference; x - r is cut at `REACH`, so that a far reference asks
for nothing that was never learned. A policy that swings up has a second network, which rules where
it can hold the rod, above the cart in a level of a quadratic form:

    k_z > 0,    e.S e < 1,    e = (x - r, k, x', k')

and its answers are held for the period in which it was learned. The weights are in an .npz file
(doc/control.md).
"""

import math
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np

from rbdyn_ros.control.admission import admit
from rbdyn_ros.control.law_options import checked
from rbdyn_ros.control.linear_controller import LinearController, constant, derivative
from rbdyn_ros.files import read_arrays
from rbdyn_ros.kernel import bind, kernel, part
from rbdyn_ros.numerics.saturation import saturate
from rbdyn_ros.parameters.shipped import config
from rbdyn_ros.pendulum import sphere_state
from rbdyn_ros.schema import spec
from rbdyn_ros.types import Array, State

KINDS = ("balance",)  # what it is meant for, in the words of evaluation.suite
INPUTS, OUTPUTS, WIDEST = 10, 2, 256
REACH = 2.0  # [m]
SUFFIX, CATCH = ".npz", "catch."  # the latter begins the names of the second network


class Options(NamedTuple):
    """Which network, and what the plant allows."""

    file: Annotated[
        str,
        spec(
            "Names the weights: balance or swing_up, which come with the package, or the path of "
            "an .npz file."
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


class Catch(NamedTuple):
    """What takes over, and where."""

    network: Network
    form: Array  # S (10, 10); where its first number is 0 it is `NEVER`


_ROUNDING = 1e-9  # [s]
NEVER = np.zeros((INPUTS, INPUTS))


class Policy:
    """The network's answer to a state."""

    # where its derivative is not stable (`control.recovery`)
    remedy = (
        "a network balances plants like the one that it was learned on: learn one for this plant"
    )

    def __init__(
        self,
        network: Network,
        force_limit: float,
        catch: Catch | None = None,
        hold: float = 0.0,
    ):
        self.network, self.catch, self.hold = network, catch, hold  # hold [s]
        self._catch = catch or Catch(network, NEVER)
        self.force_limit = force_limit  # [N]
        self._work, self._force = np.zeros((3, WIDEST)), np.zeros(2)
        state = np.zeros(6), np.zeros(5), np.zeros(2)
        self._kernel = bind(_command, *state, network, self._catch, self._work, force_limit)
        self.reset()

    def command(self, t: float, state: State, reference: Array) -> Array:
        """Force on the cart (2,) [N, world].

        ValueError names what is not finite, of another shape or not unit.
        """
        q, v, r = admit(state, reference)
        if not self._since <= t < self._since + self.hold - _ROUNDING:
            self._since = t
            self._force[:] = self._kernel(
                q, v, r, self.network, self._catch, self._work, self.force_limit
            )
        return self._force.copy()

    def reset(self) -> None:
        """Answer the next state, whatever was held."""
        self._since = math.inf

    def derivative(self) -> LinearController:
        """Return the linear controller of the answer's derivative at upright rest."""

        def force(state: State) -> float:
            self.reset()
            return self.command(0.0, state, np.zeros(2)).item(0)

        found = constant(derivative(force))
        self.reset()
        return found


def design(model, params, options: Options) -> Policy:
    """Return the law of the file. ValueError if there is none, or it is no network."""
    file, _, force_limit = checked("policy", options)
    path = find(file)
    arrays = read_arrays(path)
    network, catch = _network(path, arrays, ""), _catch(path, arrays)
    return Policy(network, force_limit, catch, _hold(path, arrays))


def find(name: str) -> Path:
    """Return the file of that name. ValueError, with the names that there are."""
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
    """Return the network of a file with W0, b0, W1, b1, ..., scale and force. ValueError."""
    return _network(path, read_arrays(path), "")


def _catch(path: Path, arrays: dict[str, Array]) -> Catch | None:
    """Return the second network of a file, whose names begin with "catch.", and its
    catch.form; None if it has none. ValueError.
    """
    if f"{CATCH}form" not in arrays:
        return None
    form = arrays[f"{CATCH}form"]
    if form.shape != NEVER.shape or form.dtype.kind != "f" or not np.isfinite(form).all():
        raise ValueError(
            f"{path}: {CATCH}form must be {INPUTS} times {INPUTS} floating-point numbers, each "
            "finite"
        )
    return Catch(_network(path, arrays, CATCH), form.astype(float))


def _hold(path: Path, arrays: dict[str, Array]) -> float:
    """Return how long each answer is held [s], by the number hold of a file; 0 where it has none.
    ValueError.
    """
    hold = arrays.get("hold", np.zeros(()))
    if hold.shape or hold.dtype.kind != "f" or not 0.0 <= hold <= 1.0:
        raise ValueError(f"{path}: hold is {hold}; it must be a number in [0, 1] s")
    return float(hold)


def _network(path: Path, arrays: dict[str, Array], prefix: str) -> Network:
    """Return the network whose arrays' names begin with the prefix. ValueError."""
    count = sum(name.startswith(f"{prefix}W") for name in arrays)
    names = ["scale", "force", *(f"{letter}{n}" for n in range(count) for letter in "Wb")]
    for name in (prefix + name for name in (names if count else ["W0"])):
        if name not in arrays:
            raise ValueError(f"{path}: {name} is missing; a policy has W0, b0, ..., scale, force")
        if arrays[name].dtype.kind != "f" or not np.isfinite(arrays[name]).all():
            raise ValueError(f"{path}: {name} must be floating-point numbers, each finite")
    own = {name: arrays[prefix + name] for name in names}
    sizes = [INPUTS]
    for n in range(count):
        W, b = own[f"W{n}"], own[f"b{n}"]
        if W.ndim != 2 or W.shape[0] != sizes[-1] or b.shape != (W.shape[1],):
            raise ValueError(
                f"{path}: {prefix}W{n} has shape {W.shape} and {prefix}b{n} {b.shape}; they must "
                f"be ({sizes[-1]}, n) and (n,)"
            )
        sizes.append(W.shape[1])
    if sizes[-1] != OUTPUTS or max(sizes) > WIDEST:
        raise ValueError(
            f"{path}: its layers have {sizes[1:]} outputs; the last one must have {OUTPUTS}, the "
            f"others at most {WIDEST}"
        )
    scale, force = own["scale"].astype(float), own["force"].astype(float)
    if scale.shape != (INPUTS,) or not (scale > 0.0).all() or force.shape or force <= 0.0:
        raise ValueError(f"{path}: {prefix}scale must be {INPUTS} numbers > 0, force one")
    layers = [own[f"{letter}{n}"].ravel() for n in range(count) for letter in "Wb"]
    return Network(np.concatenate(layers).astype(float), np.array(sizes), scale, float(force))


def write(
    path: Path, network: Network, catch: Catch | None = None, hold: float = 0.0, **notes: str
) -> None:
    """Write a network, what takes over, how long an answer is held [s], and in words what it
    took.
    """
    arrays: dict[str, Any] = {**notes, **_network_arrays(network, "")}
    if hold:
        arrays["hold"] = np.float64(hold)
    if catch:
        arrays |= {f"{CATCH}form": catch.form, **_network_arrays(catch.network, CATCH)}
    np.savez(path, **arrays)


def _network_arrays(network: Network, prefix: str) -> dict[str, Any]:
    """Return the arrays of a network by their names in a file."""
    arrays: dict[str, Any] = {"scale": network.scale, "force": np.float64(network.force)}
    place = 0
    for n, (inputs, outputs) in enumerate(zip(network.sizes, network.sizes[1:])):
        for name, shape in ((f"W{n}", (inputs, outputs)), (f"b{n}", (outputs,))):
            size = math.prod(shape)
            arrays[name] = network.weights[place : place + size].reshape(shape).astype(np.float32)
            place += size
    return {prefix + name: array for name, array in arrays.items()}


@part
def evaluate(weights, sizes, source, target):
    """Return the answer a (2,) of a network to its inputs in `source`, which it writes over, as
    it does over `target`: both as long as the widest layer.
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


@part
def answer(weights, sizes, scale, s, work):
    """Return the answer a (2,) of a network to e = s (10,); work (2, WIDEST)."""
    for n in range(INPUTS):
        work[0, n] = s[n] / scale[n]
    return evaluate(weights, sizes, work[0], work[1])


@part
def is_caught(form, s):
    """Whether k_z > 0 and e.S e < 1 of e = s (10,)."""
    if form[0, 0] == 0.0 or not s[4] > 0.0:
        return False
    total = 0.0
    for n in range(INPUTS):
        for m in range(INPUTS):
            total += s[n] * form[n, m] * s[m]
    return total < 1.0


@kernel
def _command(q, v, r, network, catch, work, limit):
    """(u_x, u_y)."""
    k, dk, x, dx = sphere_state.of_state(q, v)
    s = work[2]
    s[0], s[1] = saturate(x[0] - r[0], x[1] - r[1], REACH)
    s[2], s[3], s[4] = k
    s[5], s[6] = dx
    s[7], s[8], s[9] = dk
    if is_caught(catch.form, s):
        net = catch.network
        ax, ay = answer(net.weights, net.sizes, net.scale, s, work)
        force = net.force
    else:
        ax, ay = answer(network.weights, network.sizes, network.scale, s, work)
        force = network.force
    return saturate(force * ax, force * ay, limit)
