"""The pictures of a monitor's page: how long things take, and how that goes over the run."""

from io import StringIO

import numpy as np

from rbdyn_ros.evaluation.latency.latency import Figure, Latency

BLUE, ORANGE, RED, GREY = "#1f6fb4", "#d9732b", "#c1272d", "#8a8a8a"
LEVELS = {"warn": ORANGE, "error": RED}
TITLES = {
    "period": "period of the states",
    "age": "age of the commands",
    "round_trip": "round trip",
}
_TAIL = 1e-5  # the rarest share that is drawn


def svg(latency: Latency, limits: dict[str, float]) -> str:
    """Two pictures for each time: the share that takes longer, and mean and maximum over the
    run.
    """
    from matplotlib.figure import Figure as Canvas

    canvas = Canvas(figsize=(11.0, 8.5))
    # to compute them takes as long as to draw
    canvas.subplots_adjust(left=0.08, right=0.99, bottom=0.06, top=0.99, hspace=0.28, wspace=0.16)
    for row, (name, figure) in zip(
        canvas.subplots(3, 2, width_ratios=(1.0, 1.4)), latency.figures.items()
    ):
        _tail(row[0], figure)
        _course(row[1], figure)
        _limits(row[0], {level: limits.get(f"monitor.{level}.{name}") for level in LEVELS})
        row[0].set_ylabel(f"{TITLES[name]}\nshare that takes longer")
    return _text(canvas)


def _tail(axes, figure: Figure) -> None:
    times, shares = figure.run.curve()
    if not len(times):
        axes.text(
            0.5, 0.5, "nothing was measured", transform=axes.transAxes, ha="center", color=GREY
        )
        return
    axes.step(1e3 * times, np.maximum(_TAIL, 1.0 - shares), where="post", color=BLUE)
    for share, name in ((0.5, "p50"), (0.01, "p99"), (0.001, "p99.9")):
        axes.axhline(share, color=GREY, linewidth=0.6, linestyle=":")
        axes.annotate(
            name,
            (0.01, share),
            xycoords=("axes fraction", "data"),
            fontsize=7,
            color=GREY,
            va="bottom",
        )
    axes.set_xscale("symlog", linthresh=1e-2)
    axes.set_yscale("log")
    axes.set_xlim(left=0.0)
    axes.set_ylim(_TAIL, 1.0)
    axes.set_xlabel("ms")


def _course(axes, figure: Figure) -> None:
    slots = figure.trend.slots
    times = [slot.begin for slot in slots]
    axes.plot(
        times,
        [1e3 * slot.most for slot in slots],
        color=ORANGE,
        linewidth=1.0,
        label=f"maximum of {figure.trend.width:g} s",
    )
    axes.plot(times, [1e3 * slot.mean for slot in slots], color=BLUE, linewidth=1.2, label="mean")
    axes.set_ylim(0.0, 1.25 * axes.get_ylim()[1])  # room for the legend
    axes.set_ylabel("ms")
    axes.set_xlabel("s after the warm-up")
    axes.legend(loc="upper right", fontsize=7, frameon=False)


def _limits(axes, limits: dict) -> None:
    """Dashed lines; the axis reaches beyond them."""
    for level, limit in limits.items():
        if limit is not None and axes.lines:
            axes.axvline(1e3 * limit, color=LEVELS[level], linewidth=1.0, linestyle="--")
            place = (1e3 * limit, 0.97)
            axes.annotate(
                level,
                place,
                xycoords=("data", "axes fraction"),
                fontsize=7,
                color=LEVELS[level],
                ha="right",
                va="top",
                rotation=90,
            )
            axes.set_xlim(right=max(axes.get_xlim()[1], 2e3 * limit))


def _text(canvas) -> str:
    """The picture alone, without the head of a file of its own."""
    drawn = StringIO()
    canvas.savefig(drawn, format="svg", metadata={"Date": None})
    return drawn.getvalue()[drawn.getvalue().index("<svg") :]
