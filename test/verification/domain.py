"""ROS domains in which nobody is: the tests of this process, and of others on this machine, do not hear each other."""

import fcntl
import random
import socket
import tempfile
from pathlib import Path

LOCKS = Path(tempfile.gettempdir())
_kept = []  # open files: a domain is ours until this process ends


def free_domain() -> int:
    """A domain that no other test process has taken, and in which no node is: the port of its first participant can be bound."""
    for domain in random.SystemRandom().sample(range(1, 101), 100):
        if _taken(domain) and _silent(domain):
            return domain
    raise OSError("all hundred ROS domains of this machine are in use; end the nodes that run")


def alone() -> dict:
    """The environment variables of a ROS graph that nobody else is in."""
    return {"ROS_DOMAIN_ID": str(free_domain()), "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}


def _taken(domain: int) -> bool:
    lock = open(LOCKS / f"ros_domain_{domain}.lock", "a")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.close()
        return False
    _kept.append(lock)
    return True


def _silent(domain: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as first:
        try:
            first.bind(("", 7410 + 250 * domain))
        except OSError:
            return False
    return True
