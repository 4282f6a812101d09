"""A picture of a sweep: measures over what was varied, with their spread over the runs of a combination."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from crowdsim.errors import CrowdsimError
from crowdsim.pictures.run import OKABE_ITO, new_figure, save
from crowdsim.scenario.tree import suggestion
from crowdsim.sweep.folder import FINISHED, Folder
from crowdsim.sweep.tables import kept_runs, known_measures, means_of, shown_measures

PANEL = (6.0, 3.6)  # inches of a measure
MOST_LINES = 12  # combinations of the other keys with a line of their own; more cannot be told apart


def draw_sweep(
    folder: Path, out: Path, measures: Sequence[str] = (), *, form: str | None = None, dpi: int = 130
) -> None:
    """Draw means and standard deviations of measures over the first varied key that has numbers; each
    combination of the other keys is a line, and each run a pale dot.

    Parameters
    ----------
    folder : Path
        Of a sweep.
    out : Path
    measures : sequence of str
        Columns of the table of runs; by default those that the command prints.
    form : str, optional
        png, svg or pdf; without it as the name ends.
    dpi : int
        Dots an inch of a PNG.

    Raises
    ------
    CrowdsimError
        If matplotlib is not installed, it is no sweep, none of its runs is finished, or a measure is unknown.
    """
    keys, runs = kept_runs(Folder(folder))
    means = means_of(runs, keys)
    finished = runs[runs["status"] == FINISHED]
    if finished.empty:
        raise CrowdsimError(
            f"{folder}: none of its {len(runs):,} runs is finished, so there is nothing to draw. The command "
            "that began the sweep goes on with it."
        )
    known = known_measures(means)
    for name in measures:
        if name not in known:
            raise CrowdsimError(
                f'--show names "{name}", but of this sweep there are {", ".join(known)}. '
                f"{suggestion(name, known)}".strip()
            )
    shown = [*measures] or shown_measures(means)
    across = next((key for key in keys if _is_varied(runs, key) and _has_numbers(runs, key)), None)
    across = across or next((key for key in keys if _is_varied(runs, key)), None)
    others = [key for key in keys if key != across and _is_varied(runs, key)]
    columns = min(2, len(shown))
    lines = -(-len(shown) // columns)
    figure = new_figure(columns * PANEL[0], lines * PANEL[1] + 0.4)
    grid = figure.subplots(lines, columns, squeeze=False)
    for axes in grid.flat[len(shown) :]:
        axes.set_visible(False)
    for axes, name in zip(grid.flat, shown, strict=False):
        _draw_measure(axes, name, across, others, means, finished)
    most = int(means["runs"].max())
    spread = f"mean ± standard deviation of up to {most:,} runs" if most > 1 else "one run each"
    figure.suptitle(f"{folder.name}  |  {len(finished):,} runs, {spread}", fontsize=11)
    save(figure, out, form=form, dpi=dpi)


def _is_varied(runs: pd.DataFrame, key: str) -> bool:
    return runs[key].nunique(dropna=False) > 1


def _has_numbers(runs: pd.DataFrame, key: str) -> bool:
    column = runs[key]
    return pd.api.types.is_numeric_dtype(column) and not pd.api.types.is_bool_dtype(column)


def _draw_measure(
    axes: Any,
    name: str,
    across: str | None,
    others: Sequence[str],
    means: pd.DataFrame,
    runs: pd.DataFrame,
) -> None:
    """Draw one measure: a line with bars for each combination of the other keys."""
    places: dict[Any, float] = {}  # of values that are no numbers, in the order of the design
    if across is not None and not _has_numbers(runs, across):
        places = {value: float(place) for place, value in enumerate(dict.fromkeys(means[across]))}
        axes.set_xticks(list(places.values()), [str(value) for value in places])

    def along(table: pd.DataFrame) -> list[float]:
        if across is None:
            return [0.0] * len(table)
        return [places.get(value, value) for value in table[across]]

    groups = means.groupby([*others], sort=False, dropna=False) if others else [((), means)]
    for number, (point, part) in enumerate(groups):
        if number == MOST_LINES:
            axes.plot([], [], " ", label=f"and {len(groups) - MOST_LINES:,} more")
            break
        colour = OKABE_ITO[number % len(OKABE_ITO)]
        own = runs
        for key, value in zip(others, point, strict=True):
            own = own[own[key].isna() if value != value else own[key] == value]
        axes.plot(along(own), own[name].astype("float64"), ".", color=colour, alpha=0.3, markersize=5)
        part = part if places or across is None else part.sort_values(across)
        axes.errorbar(
            along(part),
            part[f"mean_{name}"],
            yerr=part[f"sd_{name}"].fillna(0.0),
            color=colour,
            marker="os^Dv<>ph*Xd"[number],
            markersize=5,
            linewidth=1.4,
            capsize=3,
            label=", ".join(f"{key} {value}" for key, value in zip(others, point, strict=True)),
        )
    if across is None:
        axes.set_xticks([])
    axes.set(xlabel=across or "", ylabel=name)
    axes.margins(x=0.06)
    axes.grid(alpha=0.25)
    if others:
        axes.legend(fontsize=8)
