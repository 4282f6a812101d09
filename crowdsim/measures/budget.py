"""Where the time of a tick goes: cost of each system, ticks over budget and what was to blame,
and how planning kept to its share.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

PLANNING = "Plan"  # the system that has the slices
RECENT_TICKS = 20  # as in crowdsim.simulation.budget; a test holds them equal


def system_costs(timings: pd.DataFrame) -> pd.DataFrame:
    """Return what each system cost, and the whole tick in the last row.

    Parameters
    ----------
    timings : DataFrame
        Columns tick, and one for each system (ns); as `Recording.timings` returns it.

    Returns
    -------
    DataFrame
        system; p50_ms, p95_ms, p99_ms, worst_ms (ms); worst_tick (tick); share (of all time, 0 to 1). Numbers
        are NaN where there is no tick.
    """
    systems = _systems(timings)
    costs = timings[systems].assign(tick_total=timings[systems].sum(axis=1)) / 1e6
    total = float(costs["tick_total"].sum())
    rows = []
    for name in costs.columns:
        values = costs[name].to_numpy()
        quantiles = np.percentile(values, (50, 95, 99, 100)) if len(values) else np.full(4, np.nan)
        worst = int(timings["tick"].iloc[int(np.argmax(values))]) if len(values) else -1
        rows.append(
            (name, *quantiles.tolist(), worst, float(values.sum()) / total if total else float("nan"))
        )
    table = pd.DataFrame(
        rows, columns=["system", "p50_ms", "p95_ms", "p99_ms", "worst_ms", "worst_tick", "share"]
    )
    table.attrs["units"] = {
        "p50_ms": "ms",
        "p95_ms": "ms",
        "p99_ms": "ms",
        "worst_ms": "ms",
        "worst_tick": "tick",
        "share": "",
    }
    return table


def frame_times(timings: pd.DataFrame, milliseconds: float | None = None) -> pd.DataFrame:
    """Return for each tick what it took, which system took more than usual, and what planning had.

    Parameters
    ----------
    timings : DataFrame
        As in `system_costs`.
    milliseconds : float, ms, optional
        Budget of a tick.

    Returns
    -------
    DataFrame
        tick; total_ms, planning_ms; share_ms: what the budget left to planning, NaN without a budget;
        over_ms: how much longer than its share planning took, below 0 where it was done earlier; is_over:
        longer than the budget; culprit: the system that is farthest above its own median, empty where there
        are no systems.
    """
    systems = _systems(timings)
    costs = timings[systems] / 1e6
    total, planning = costs.sum(axis=1), costs[PLANNING] if PLANNING in systems else costs.sum(axis=1) * 0.0
    others = (total - planning).shift(1).rolling(RECENT_TICKS, min_periods=1).max().fillna(0.0)
    budget = float("nan") if milliseconds is None else milliseconds
    above = (costs - costs.median()).to_numpy()
    table = pd.DataFrame(
        {
            "tick": timings["tick"],
            "total_ms": total,
            "planning_ms": planning,
            "share_ms": budget - others,
            "over_ms": planning - (budget - others),
            "is_over": total > budget,
            "culprit": [systems[i] for i in np.argmax(above, axis=1)] if above.size else [""] * len(above),
        }
    )
    table.attrs["units"] = {
        "tick": "tick",
        **dict.fromkeys(("total_ms", "planning_ms", "share_ms", "over_ms"), "ms"),
        "is_over": "",
        "culprit": "",
    }
    return table


def _systems(timings: pd.DataFrame) -> list[str]:
    return [str(name) for name in timings.columns if name != "tick"]
