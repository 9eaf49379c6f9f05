"""Messages of /diagnostics (REP-107): each has its worst level, and numbers as strings."""

import math
from typing import Any

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue
from rclpy.clock import Clock

Finding = tuple[bytes, str]  # (level, sentence)
Line = tuple[str, list[Finding], dict[str, Any]]  # (part, findings, values)
OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


def status(name: str, findings: list[Finding], values: dict[str, Any]) -> DiagnosticStatus:
    """Return one line of diagnostics: `findings` are (level, sentence), the worst one gives level
    and message.
    """
    level, message = max(findings, key=lambda finding: finding[0], default=(OK, "ok"))
    pairs = [KeyValue(key=key, value=_text(value)) for key, value in values.items()]
    return DiagnosticStatus(
        level=level, name=name, message=message, hardware_id="rbdyn_ros", values=pairs
    )


def begin() -> DiagnosticArray:
    """Return a message without lines, stamped before values are read: with system time in every
    node, since simulated time may stand still, and the aggregator complains of a stamp of zero.
    """
    message = DiagnosticArray()
    message.header.stamp = Clock().now().to_msg()
    return message


def values_of(message: DiagnosticArray, node: str) -> dict[str, str]:
    """Return the values of a node by their names; empty where the message has none."""
    lines = (line for line in message.status if node in line.name)
    return {pair.key: pair.value for line in lines for pair in line.values}


def number_of(text: str) -> float:
    """Return the number in a value of diagnostics; nan for another text."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def _text(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
