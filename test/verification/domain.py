"""ROS domains in which nobody is: the tests of this process, and of others on this machine, do not hear each other."""

import os
import random
import socket

WORKERS = 4  # processes that may run tests at once; each has every fourth domain, so no two choose the same
HIGHEST = 100


def free_domain() -> int:
    """A domain in which nobody is: the port of its first participant, as DDS counts them, can be bound."""
    worker = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw")) % WORKERS
    mine = range(1 + worker, HIGHEST + 1, WORKERS)
    for domain in random.SystemRandom().sample(mine, len(mine)):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first:
            try:
                first.bind(("", 7410 + 250 * domain))
            except OSError:
                continue
            return domain
    raise OSError("all ROS domains of this machine that these tests may use are taken; end the nodes that run")


def alone() -> dict:
    """The environment variables of a ROS graph that nobody else is in."""
    return {"ROS_DOMAIN_ID": str(free_domain()), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
