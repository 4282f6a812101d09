"""Panels over time: how many have arrived, by group, and how fast people were."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from crowdsim.pictures.looked_through import Speeds
from crowdsim.pictures.run import colours_of, dashes_of
from crowdsim.recording.reader import Recording

MOST_GROUPS = 12  # With a line of their own, the largest; more cannot be told apart. The others are one line.
ALL, OTHERS = "all agents", "other groups"


def arrivals_by_group(recording: Recording) -> pd.DataFrame:
    """Return how many of each group had arrived by when.

    Parameters
    ----------
    recording : Recording

    Returns
    -------
    DataFrame
        time_s (s), group, arrived, of: one row for each group at the begin, whenever one of it arrived, and at the end. An agent with several goals
        has arrived at the last that was reached, as in `crowdsim.measures.evacuation_curve`. Beside the groups there is ``all agents`` where there are several.
    """
    roster, events = recording.roster(), recording.events()
    end = recording.commit.last_tick * recording.header.tick_s
    sizes = roster["group_name"].value_counts()
    named = list(dict.fromkeys(roster["group_name"]))
    if len(named) > MOST_GROUPS:
        largest = set(sizes.index[: MOST_GROUPS - 1])
        roster = roster.assign(group_name=roster["group_name"].where(roster["group_name"].isin(largest), OTHERS))
        named = [*(name for name in named if name in largest), OTHERS]
        sizes = roster["group_name"].value_counts()
    last = events[events["kind"] == "ARRIVAL"].drop_duplicates("entity", keep="last")
    group = last["entity"].map(dict(zip(roster["entity"], roster["group_name"], strict=True)))
    time_s = last["tick"].to_numpy() * recording.header.tick_s
    lines = [(name, np.sort(time_s[(group == name).to_numpy()]), int(sizes[name])) for name in named]
    if len(named) > 1:
        lines.append((ALL, np.sort(time_s), len(roster)))
    parts = []
    for name, times, size in lines:
        moments, counts = np.unique(times, return_counts=True)
        whole = np.concatenate([[0.0], moments, [end]]), np.concatenate([[0], np.cumsum(counts), [len(times)]])
        parts.append(pd.DataFrame({"time_s": whole[0], "group": name, "arrived": whole[1], "of": size}))
    return pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=["time_s", "group", "arrived", "of"])


def draw_arrivals(axes: Any, recording: Recording) -> None:
    """Draw how many had arrived by when, each group as a line of steps; the legend says how many of how many did in the end."""
    table = arrivals_by_group(recording)
    names = list(dict.fromkeys(table["group"]))
    colours, dashes = colours_of(name for name in names if name != ALL), dashes_of(names)
    for name, part in table.groupby("group", sort=False):
        label = f"{name}: {part['arrived'].iloc[-1]:,} of {part['of'].iloc[-1]:,}"
        look = {"color": "black", "linewidth": 2.2} if name == ALL else {"color": colours[str(name)], "linewidth": 1.6}
        axes.step(part["time_s"], part["arrived"], where="post", linestyle=dashes[str(name)], label=label, **look)
    axes.set_xlabel("simulated time (s)")
    axes.set_ylabel("arrived (people)")
    axes.set_ylim(bottom=0)
    axes.margins(x=0.01)
    axes.set_title("arrivals", fontsize=10)
    axes.grid(alpha=0.25)
    if names:
        axes.legend(fontsize=8, loc="upper left" if len(names) > 4 else "lower right")


def draw_speeds(axes: Any, speeds: Speeds) -> None:
    """Draw speeds over time: the median, the middle half and the middle eight tenths of people, and how many there are on an axis of its own."""
    blue = colours_of(["speeds"])["speeds"]
    if not len(speeds.time_s):
        axes.text(0.5, 0.5, "nobody was there long enough to have a speed", ha="center", va="center", transform=axes.transAxes)
    axes.fill_between(speeds.time_s, speeds.quantiles[:, 0], speeds.quantiles[:, 4], color=blue, alpha=0.15, linewidth=0, label="10 to 90 %")
    axes.fill_between(speeds.time_s, speeds.quantiles[:, 1], speeds.quantiles[:, 3], color=blue, alpha=0.30, linewidth=0, label="25 to 75 %")
    axes.plot(speeds.time_s, speeds.quantiles[:, 2], color=blue, linewidth=1.6, label="median")
    axes.plot(speeds.time_s, speeds.mean, color="#D55E00", linewidth=1.2, linestyle="--", label="mean")
    axes.set_xlabel("simulated time (s)")
    axes.set_ylabel("speed (m/s)")
    axes.set_ylim(bottom=0.0)
    axes.margins(x=0.01)
    axes.grid(alpha=0.25)
    axes.set_title(f"speeds, over {speeds.over_s:.2g} s each", fontsize=10)
    many = axes.twinx()
    many.plot(speeds.time_s, speeds.people, color="#777777", linewidth=1.0, linestyle=":", label="people")
    many.set_ylabel("people", color="#555555")
    many.set_ylim(bottom=0)
    axes.plot([], [], color="#777777", linewidth=1.0, linestyle=":", label="people (right)")
    axes.legend(fontsize=8, loc="lower left", ncols=2)
