"""The tables of a sweep: one row for each run of the design, in its order, whatever the number of workers;
clock readings apart.

They are Parquet files where pyarrow is installed, CSV else; both are replaced whole.
"""

from __future__ import annotations

import importlib.util
import io
from pathlib import Path
from typing import Any

import pandas as pd

from crowdsim.sweep.folder import FINISHED, Folder, write_whole
from crowdsim.sweep.plan import Plan

NOT_DONE = "not done"


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
    rows, clocks = [], []
    results: dict[str, dict[str, Any] | None] = {}
    for run in plan.runs:
        if run.id not in results:
            results[run.id] = folder.read_result(run.id)
        result = results[run.id] or {"status": NOT_DONE, "error": "", "measures": {}, "timings": {}}
        is_kept = result["status"] == FINISHED and folder.recording(run.id).is_file()
        about = {"run": run.number, "id": run.id}
        outcome = {
            "seed": run.seed,
            "status": result["status"],
            "error": result["error"],
            "command": plan.command(run, record=record),
            "recording": str(folder.recording(run.id).relative_to(folder.path)) if is_kept else "",
        }
        rows.append(
            {
                **about,
                **{key: run.values.get(key) for key in plan.keys if key != "seed"},
                **outcome,
                **result["measures"],
            }
        )
        clocks.append({**about, "status": result["status"], **dict(sorted(result["timings"].items()))})
    return _typed(pd.DataFrame(rows)), pd.DataFrame(clocks)


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


def write_tables(plan: Plan, folder: Folder, *, record: bool = True) -> tuple[Path, ...]:
    """Write both tables into the folder of a sweep; return their paths.

    Raises
    ------
    RecordingError
        If one cannot be written.
    """
    suffix = ".parquet" if importlib.util.find_spec("pyarrow") is not None else ".csv"
    paths = []
    for name, table in zip(("runs", "timings"), tables_of(plan, folder, record=record), strict=True):
        path = folder.path / f"{name}{suffix}"
        if suffix == ".parquet":
            buffer = io.BytesIO()
            table.to_parquet(buffer, index=False, engine="pyarrow")
            write_whole(path, buffer.getvalue())
        else:
            write_whole(path, table.to_csv(index=False).encode())
        paths.append(path)
    return tuple(paths)
