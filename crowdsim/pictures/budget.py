"""The picture of a budget: what each system took over the run, the budget as a line,
and below it the requests for paths that waited.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from crowdsim.pictures.run import OKABE_ITO, new_figure, save
from crowdsim.recording.reader import Recording

MOST_SHOWN = 7  # Systems with a colour of their own, those that took most; the others are one.
MOST_COLUMNS = 600  # Of the picture: more ticks than these are put together, each column as its longest tick.
INCHES = (10.0, 6.0)


def longest_ticks(total: NDArray[np.float64], columns: int) -> NDArray[np.int64]:
    """Return for each of some columns of ticks the one that took longest, ascending;
    every tick where there are no more than columns.

    Parameters
    ----------
    total : (n,) float64
        What each tick took.
    columns : int, >= 1

    Returns
    -------
    (min(n, columns),) int64
    """
    count = min(len(total), columns)
    bounds = len(total) * np.arange(count + 1) // max(1, count)
    return np.array(
        [
            low + int(np.argmax(total[low:high]))
            for low, high in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True)
        ],
        dtype=np.int64,
    )


def draw_budget(
    recording: Recording, out: Path, milliseconds: float | None = None, *, dpi: int = 130
) -> None:
    """Draw what the ticks of a recording took, and write it as a picture.

    Parameters
    ----------
    recording : Recording
    out : Path
        Its ending says in which form: png, svg or pdf.
    milliseconds : float, ms, optional
        Budget of a tick, drawn as a line.
    dpi : int
        Dots an inch of a PNG.

    Raises
    ------
    CrowdsimError
        If matplotlib is not installed.
    """
    figure = new_figure(*INCHES)
    draw_budget_in(figure, recording, milliseconds)
    save(figure, out, dpi=dpi)


def draw_budget_in(figure: Any, recording: Recording, milliseconds: float | None = None) -> None:
    """Draw what the ticks of a recording took into a figure, or a part of one; see `draw_budget`."""
    timings, ticks = recording.timings(), recording.ticks()
    systems = [str(name) for name in timings.columns if name != "tick"]
    costs = timings[systems].to_numpy() / 1e6
    shown = longest_ticks(costs.sum(axis=1), MOST_COLUMNS)
    seconds = timings["tick"].to_numpy()[shown] * recording.header.tick_s
    order = np.argsort(-costs.sum(axis=0), kind="stable")
    parts = [(systems[i], costs[shown, i]) for i in order[:MOST_SHOWN]]
    if len(order) > MOST_SHOWN:
        parts.append(("others", costs[shown][:, order[MOST_SHOWN:]].sum(axis=1)))
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    # Steps, not slopes: each column is a tick of its own.
    above.stackplot(
        seconds,
        [part for _, part in parts],
        labels=[name for name, _ in parts],
        colors=OKABE_ITO,
        step="post",
        linewidth=0,
    )
    if milliseconds is not None:
        above.axhline(
            milliseconds, color="black", linestyle="--", linewidth=1.4, label=f"budget {milliseconds:g} ms"
        )
    total = costs.sum(axis=1)
    # Rare ticks in which the machine did something else would press all the others flat; the title says how
    # long the longest is.
    above.set(
        ylim=(0.0, max(2.0 * float(np.percentile(total, 95)), 2.0 * (milliseconds or 0.0)) or 1.0),
        ylabel="ms a tick"
        if len(shown) == len(costs)
        else f"ms, longest of {-(-len(costs) // len(shown))} ticks",
    )
    above.legend(loc="upper right", fontsize=8, ncols=3)
    above.set_title(
        (
            f"{recording.header.name}: {len(costs):,} ticks of {recording.header.tick_s:g} s, the longest "
            f"{total.max():.1f} ms"
        ),
        fontsize=10,
    )
    _draw_queue(below, ticks, recording.header.tick_s)


def _draw_queue(axes: Any, ticks: Any, tick_s: float) -> None:
    """Draw the requests that were open and how long the oldest had waited;
    what was searched instead, where nobody waited at the end of a tick.
    """
    time_s, open_requests = ticks["tick"].to_numpy() * tick_s, ticks["requests_open"].to_numpy()
    waited_s, work = ticks["oldest_request_ticks"].to_numpy() * tick_s, ticks["expansions"].to_numpy()
    has_queue = bool(open_requests.max(initial=0) > 0)
    axes.fill_between(
        time_s, open_requests if has_queue else work, step="post", color="#4c78a8", alpha=0.5, linewidth=0
    )
    axes.set_ylabel("requests open" if has_queue else "expansions", color="#35608f")
    axes.set(ylim=(0.0, None), xlabel="simulated time, s")
    done = f"{work.sum():,.0f} expansions in all, at most {work.max(initial=0):,.0f} a tick"
    if not has_queue:
        axes.set_title(f"nobody waited: every request was answered in its tick; {done}", fontsize=9)
        return
    waits = np.count_nonzero(open_requests)
    axes.set_title(
        (
            f"requests waited in {waits:,} ticks, {open_requests.max():,.0f} at most, {waited_s.max():g} s "
            f"the longest; {done}"
        ),
        fontsize=9,
    )
    age = axes.twinx()
    age.step(time_s, waited_s, where="post", color="#d6604d", linewidth=1.2)
    age.set_ylabel("oldest, s", color="#b2452f")
    age.set_ylim(bottom=0.0)
