"""ROS domains in which nobody is: the tests of this process, and of others on this machine, do not
hear each other.
"""

import fcntl
import random
import tempfile
from pathlib import Path

from rbdyn_ros.optional import is_silent

LOCKS = Path(tempfile.gettempdir())
_kept = {}  # domain -> its open file, oldest first: it is ours until this process ends


def free_domain() -> int:
    """A domain that no other test process has taken, and in which no node is.

    The port of its first participant can be bound. Where others have taken the rest, it is one
    that this process has used before and whose nodes have ended.
    """
    for domain in random.SystemRandom().sample(range(1, 101), 100):
        if domain not in _kept and _taken(domain) and is_silent(domain):
            return domain
    for domain in list(_kept):
        if is_silent(domain):
            _kept[domain] = _kept.pop(domain)  # the newest now
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
    _kept[domain] = lock
    return True
