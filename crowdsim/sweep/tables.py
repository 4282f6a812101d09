"""The tables of a sweep: one row for each run of the design, in its order, whatever the number of workers;
clock readings apart; and means and deviations over the runs of each combination.

They are Parquet files where pyarrow is installed, CSV else; each is replaced whole.
"""

from __future__ import annotations

import importlib.util
import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from crowdsim.errors import RecordingError
from crowdsim.sweep.folder import FINISHED, Folder, write_whole
from crowdsim.sweep.plan import Plan, plain_value

NOT_DONE = "not done"
# Of a run, beside the varied keys and the measures.
ABOUT = ("run", "id", "seed", "status", "error", "command", "recording")
# Measures that the command prints, in this order, where any run has them; a name means all its parts.
IN_SHORT = ("arrived", "not_arrived", "last_arrival_s", "deepest_overlap_m", "flow_per_m_s")
OF_PLACES = ("specific_flow_per_m_s", "mean_density_per_m2")  # of lines and areas, shown after them


def tables_of(plan: Plan, folder: Folder, *, record: bool = True) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the results of the runs of a plan so far, and their clock readings.

    Parameters
    ----------
    plan : Plan
    folder : Folder
    record : bool
        Whether recordings are kept, for the commands.

    Returns
    -------
    runs : DataFrame
        ``run``, ``id``, the varied keys, ``seed``, ``status``, ``error``, ``command``, ``recording``
        (relative to the folder), then the measures. A count that a finished run does not have is 0 in it (an
        exit that nobody took); measures of a run that did not finish are missing.
    timings : DataFrame
        ``run``, ``id``, ``status``, then seconds (``_s``), milliseconds and mebibytes (``peak_mb``).
    """
    runs = [(run.number, run.id, run.values, run.seed) for run in plan.runs]
    by_number = {run.number: run for run in plan.runs}
    return _tables(folder, varied(plan), runs, lambda number: plan.command(by_number[number], record=record))


def varied(plan: Plan) -> list[str]:
    """Return the keys that are varied, without the seed, over which means are taken."""
    return [key for key in plan.keys if key != "seed"]


def kept_runs(folder: Folder) -> tuple[list[str], pd.DataFrame]:
    """Return the varied keys of a sweep that is in a folder, without the seed,
    and the table of its runs as `tables_of` returns it, without commands.

    Raises
    ------
    RecordingError
        If it is not the folder of a sweep, or its manifest cannot be read.
    """
    manifest = folder.read_manifest()
    try:
        keys = [str(key) for key in manifest["keys"] if key != "seed"]
        runs = [
            (
                int(run["run"]),
                str(run["id"]),
                {key: plain_value(text) for key, text in run["values"].items()},
                int(run["seed"]),
            )
            for run in manifest["runs"]
        ]
        if not runs:
            raise ValueError
    except (KeyError, TypeError, ValueError, AttributeError):
        raise RecordingError(
            f"{folder.manifest}: does not say which runs there are. The command that began the sweep writes "
            "it anew."
        ) from None
    return keys, _tables(folder, keys, runs, lambda _: "")[0]


def _tables(
    folder: Folder,
    keys: Sequence[str],
    runs: Iterable[tuple[int, str, Mapping[str, Any], int]],
    command_of: Callable[[int], str],
) -> tuple[pd.DataFrame, pd.DataFrame]:
    rows, clocks = [], []
    results: dict[str, dict[str, Any] | None] = {}
    for number, identity, values, seed in runs:
        if identity not in results:
            results[identity] = folder.read_result(identity)
        result = results[identity] or {"status": NOT_DONE, "error": "", "measures": {}, "timings": {}}
        is_kept = result["status"] == FINISHED and folder.recording(identity).is_file()
        about = {"run": number, "id": identity}
        outcome = {
            "seed": seed,
            "status": result["status"],
            "error": result["error"],
            "command": command_of(number),
            "recording": str(folder.recording(identity).relative_to(folder.path)) if is_kept else "",
        }
        rows.append({**about, **{key: values.get(key) for key in keys}, **outcome, **result["measures"]})
        clocks.append({**about, "status": result["status"], **dict(sorted(result["timings"].items()))})
    return _typed(pd.DataFrame(rows)), pd.DataFrame(clocks)


def means_of(runs: pd.DataFrame, keys: Sequence[str]) -> pd.DataFrame:
    """Return means and deviations of the measures over the runs of each combination, as a rule its seeds.

    Parameters
    ----------
    runs : DataFrame
        As `tables_of` and `kept_runs` return it.
    keys : sequence of str
        The varied keys, without the seed.

    Returns
    -------
    DataFrame
        One row for each combination, in the order of the design: the keys; ``runs``, different ones;
        ``finished``; then ``mean_<measure>`` and ``sd_<measure>``, the standard deviation of a sample, of
        each measure that is a number. Runs without a value do not count; NaN where none, or for a deviation
        only one, has one.
    """
    runs = runs.drop_duplicates([*keys, "id"])  # a combination may stand in a design twice
    measures = [
        name
        for name in runs.columns
        if name not in (*ABOUT, *keys)
        and pd.api.types.is_numeric_dtype(runs[name])
        and not pd.api.types.is_bool_dtype(runs[name])
    ]
    rows = []
    for point, part in runs.groupby([*keys], sort=False, dropna=False) if keys else [((), runs)]:
        numbers = part[measures].astype("float64")
        mean, deviation = numbers.mean(), numbers.std(ddof=1)
        rows.append(
            {
                **dict(zip(keys, point, strict=True)),
                "runs": len(part),
                "finished": int((part["status"] == FINISHED).sum()),
                **{
                    f"{what}_{name}": of[name]
                    for name in measures
                    for what, of in (("mean", mean), ("sd", deviation))
                },
            }
        )
    return pd.DataFrame(rows)


def known_measures(means: pd.DataFrame) -> list[str]:
    """Return the measures that `means_of` found in any run."""
    known = [name for name in means.columns if f"sd_{name.removeprefix('mean_')}" in means.columns]
    return [name.removeprefix("mean_") for name in known if means[name].notna().any()]


def shown_measures(means: pd.DataFrame, wanted: Sequence[str] = IN_SHORT) -> list[str]:
    """Return the measures that say most: those wanted, in that order,
    then flows through lines and densities in areas.
    """
    known = known_measures(means)
    first = [name for each in wanted for name in known if name.partition(".")[0] == each]
    return first + [
        name for name in known if name.startswith(("lines.", "areas.")) and name.endswith(OF_PLACES)
    ]


def _typed(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table whose counts are whole numbers also where some runs have none,
    and whose columns of mixed values are text.
    """
    finished = table["status"] == FINISHED
    for name in table.columns:
        column = table[name]
        if "." in name and name.partition(".")[0] in ("arrivals", "reasons", "replans"):
            table[name] = column.mask(finished & column.isna(), 0).astype("Int64")
            continue
        known = [value for value in column if not pd.isna(value)]
        if any(isinstance(value, str) for value in known):
            table[name] = pd.Series(
                [None if pd.isna(value) else str(value) for value in column],
                index=table.index,
                dtype="object",
            )
        elif known and all(isinstance(value, bool) for value in known):
            table[name] = column.astype("boolean")
        elif (
            known
            and len(known) < len(column)
            and all(float(value).is_integer() for value in known)
            and not name.endswith(("_s", "_m"))
        ):
            table[name] = column.astype("Int64")
    return table


def write_tables(plan: Plan, folder: Folder, *, record: bool = True) -> tuple[tuple[Path, ...], pd.DataFrame]:
    """Write the runs, their clock readings, and the means into the folder of a sweep;
    return the paths, and the means.

    Raises
    ------
    RecordingError
        If one cannot be written.
    """
    suffix = ".parquet" if importlib.util.find_spec("pyarrow") is not None else ".csv"
    paths = []
    runs, timings = tables_of(plan, folder, record=record)
    means = means_of(runs, varied(plan))
    for name, table in (("runs", runs), ("timings", timings), ("means", means)):
        path = folder.path / f"{name}{suffix}"
        if suffix == ".parquet":
            buffer = io.BytesIO()
            table.to_parquet(buffer, index=False, engine="pyarrow")
            write_whole(path, buffer.getvalue())
        else:
            write_whole(path, table.to_csv(index=False).encode())
        paths.append(path)
    return tuple(paths), means
