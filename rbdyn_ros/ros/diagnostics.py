"""/diagnostics (REP-107): the worst level first, numbers as strings."""

from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus, KeyValue

OK, WARN, ERROR = DiagnosticStatus.OK, DiagnosticStatus.WARN, DiagnosticStatus.ERROR


def status(name: str, findings: list, values: dict) -> DiagnosticStatus:
    """One line of diagnostics: `findings` are (level, sentence), the worst one gives level and
    message.
    """
    level, message = max(findings, key=lambda finding: finding[0], default=(OK, "ok"))
    pairs = [KeyValue(key=key, value=_text(value)) for key, value in values.items()]
    return DiagnosticStatus(
        level=level, name=name, message=message, hardware_id="rbdyn_ros", values=pairs
    )


def array(stamp, statuses: list) -> DiagnosticArray:
    """The message."""
    message = DiagnosticArray(status=statuses)
    message.header.stamp = stamp
    return message


def _text(value) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
