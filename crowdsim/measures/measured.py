"""Measured people: trajectories as experiments publish them, in text or HDF5,
made into the same tracks as recorded runs.
"""

from __future__ import annotations

import csv
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import shapely
from numpy.typing import NDArray

from crowdsim.errors import RecordingError
from crowdsim.measures.archives import COLUMNS, MOST_ROWS, read_archive
from crowdsim.measures.tracks import Tracks, make_tracks
from crowdsim.recording.gate import opened
from crowdsim.scenario.geometry_files import GeometryRefused, pieces_of_wkt

SIGNATURE = b"\x89HDF\r\n\x1a\n"
TEXT_ENDINGS = (".txt", ".dat", ".trc")
PER_METRE = {"m": 1.0, "cm": 100.0, "mm": 1000.0}
MOST_TEXT_BYTES = 2**31
# From the first to the last, whether or not anyone was there: four days at 25 a second.
MOST_FRAMES = 10_000_000
MOST_NUMBER = 2**53  # Of a person or a frame: up to here a real number is a whole one.
FARTHEST_M = 1e8
_LONGEST_LINE = 1 << 16  # Characters of a line of comment that are looked at.


def is_measured(path: Path) -> bool:
    """Return whether a file holds measured people:
    text by its ending, HDF5 if it has trajectories and is no recording of ours.
    """
    if path.suffix.lower() in TEXT_ENDINGS:
        return True
    try:
        with path.open("rb") as file:
            begin = file.read(9)
        # the layout of other programs; nothing but a process of its own looks into it
        if begin[:8] == SIGNATURE and begin[8] < 2:
            return True
        with opened(path, of_others=True) as archive:
            return "trajectory" in archive and "commit" not in archive
    except (OSError, RecordingError):  # missing, cut off or no HDF5: the reader of recordings says which
        return False


def read_measured(
    path: str | os.PathLike[str], *, fps: float | None = None, unit: str | None = None
) -> Tracks:
    """Read the trajectories of measured people.

    Parameters
    ----------
    path : path
        Text with the columns id, frame, x, y and more that are not read, parted by blanks, lines of comment
        after ``#``; or HDF5 as archives have it: a table `trajectory` with at least id, frame, x and y (m)
        and the attribute `fps`, which may be a text like '25.0'; `wkt_geometry` is the ground.
    fps : float, 1/s, optional
        Frames a second; needed where the file does not say (text does in a line of comment like
        ``# framerate: 25 fps``), refused where it says otherwise.
    unit : {'m', 'cm', 'mm'}, optional
        Of the places in a text; needed where it does not say (``# id frame x/cm y/cm z/cm``), refused where
        it says otherwise.

    Returns
    -------
    Tracks
        Heights are left out: they are those of heads.

    Raises
    ------
    RecordingError
        If it cannot be read, something that it does not say is missing, or it is larger than any experiment.
        Nothing but the file itself is read: links to others are refused, and so are filters that a library
        would have to bring.
    """
    target = Path(path)
    if not target.is_file():
        raise RecordingError(f'{target}: there is no such file. Is "{target.parent}" the right folder?')
    return (
        _read_text(target, fps, unit)
        if target.suffix.lower() in TEXT_ENDINGS
        else _read_archive(target, fps, unit)
    )


def _read_text(path: Path, fps: float | None, unit: str | None) -> Tracks:
    try:
        size = path.stat().st_size
        if size > MOST_TEXT_BYTES:
            raise RecordingError(
                f"{path}: has {size:,} bytes, but tables of trajectories have at most {MOST_TEXT_BYTES:,}. "
                "Cut it into parts."
            )
        said_fps, said_unit = _said(path)
        rows = pd.read_csv(
            path,
            sep=r"\s+",
            comment="#",
            header=None,
            usecols=[0, 1, 2, 3],
            names=list(COLUMNS),
            encoding="utf-8-sig",
            nrows=MOST_ROWS + 1,
            quoting=csv.QUOTE_NONE,
            dtype=np.float64,
            na_filter=False,
        )
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({error.strerror or error}).") from None
    except (ValueError, OverflowError, pd.errors.ParserError, MemoryError):
        # UnicodeDecodeError is a ValueError
        raise RecordingError(
            _faulty_line(path)
            or f"{path}: is no table of trajectories; each line has id, frame, x, y, parted by blanks."
        ) from None
    if not len(rows):
        raise RecordingError(f"{path}: holds nobody.")
    rate = _agreed(path, "frames a second", "fps=25", said_fps, fps)
    per_metre = PER_METRE[_agreed(path, "unit of places", "unit='cm'", said_unit, _known_unit(path, unit))]
    columns = {name: rows[name].to_numpy() for name in COLUMNS}
    columns["x"], columns["y"] = columns["x"] / per_metre, columns["y"] / per_metre
    fault = _fault(columns)
    if fault:
        raise RecordingError(_faulty_line(path, per_metre) or f"{path}: {fault}")
    return make_tracks(str(path), rate, columns["id"], columns["frame"], columns["x"], columns["y"])


def _said(path: Path) -> tuple[float | None, str | None]:
    """Return what the lines of comment at the begin of a text say of its frame rate and unit."""
    rate, unit = None, None
    with path.open(encoding="utf-8-sig") as lines:
        while (line := lines.readline(_LONGEST_LINE)).startswith("#"):
            if rate is None and (
                found := re.search(r"frame\s*rate\D*([0-9]+(?:\.[0-9]*)?)", line, re.IGNORECASE)
            ):
                rate = float(found[1])
            if found := re.search(r"\bx\s*/\s*(mm|cm|m)\b", line, re.IGNORECASE) or re.search(
                r"\bin (mm|cm|m)\b", line, re.IGNORECASE
            ):
                unit = found[1].lower()
    return rate, unit


def _faulty_line(path: Path, per_metre: float = 1.0) -> str:
    """Return what is wrong with the first line of a text that is no row of a table of trajectories;
    nothing if there is none.
    """
    with path.open("rb") as lines:
        number = 0
        while line := lines.readline(_LONGEST_LINE):
            number += 1
            try:
                words = line.decode("utf-8-sig" if number == 1 else "utf-8").partition("#")[0].split()
                if not words:
                    continue
                values = [float(word) for word in words[:4]]
            except ValueError:
                return (
                    f"{path}:{number}: is no row of a table of trajectories: each line has id, frame, x, y, "
                    "parted by blanks."
                )
            if len(values) < 4:
                return (
                    f"{path}:{number}: has {len(values)} columns, but each line has id, frame, x, y, parted "
                    "by blanks."
                )
            numbers = {name: np.array([value]) for name, value in zip(COLUMNS, values, strict=True)}
            numbers["x"], numbers["y"] = numbers["x"] / per_metre, numbers["y"] / per_metre
            fault = _fault(numbers)
            if fault:
                return f"{path}:{number}: {fault}"
    return ""


def _fault(columns: dict[str, NDArray[Any]]) -> str:
    """Return what no rows of trajectories can have, as the rest of a message; nothing if all is well."""
    if len(columns["id"]) > MOST_ROWS:
        return f"has more than {MOST_ROWS:,} rows. Cut it into parts."
    for name in ("id", "frame"):
        numbers = columns[name]
        wrong = ~((numbers >= -MOST_NUMBER) & (numbers <= MOST_NUMBER) & (np.floor(numbers) == numbers))
        if wrong.any():
            return (
                f"{name} is {numbers[wrong][0]}, but the first two columns, id and frame, are whole numbers "
                f"up to {MOST_NUMBER:,}."
            )
    frames = columns["frame"]
    if len(frames) and int(frames.max()) - int(frames.min()) >= MOST_FRAMES:
        return (
            f"has frames from {int(frames.min()):,} to {int(frames.max()):,}, but at most {MOST_FRAMES:,} "
            "are read. Number the frames of the experiment "
            "one after the other."
        )
    for name in ("x", "y"):
        places = columns[name]
        wrong = ~(np.abs(places) <= FARTHEST_M)
        if wrong.any():
            return (
                f"{name} is {places[wrong][0]} m, but places are numbers up to {FARTHEST_M:g} m. Leave out "
                "rows in which a person was not seen."
            )
    return ""


def _known_unit(path: Path, unit: str | None) -> str | None:
    if unit is not None and unit not in PER_METRE:
        raise RecordingError(f'{path}: "{unit}" is no unit of places. Known are {", ".join(PER_METRE)}.')
    return unit


def _agreed(path: Path, what: str, example: str, said: Any, given: Any) -> Any:
    """Return what the file and the caller say, if one of them says it and they do not disagree."""
    if said is None and given is None:
        raise RecordingError(
            f"{path}: does not say its {what}. Give it: {example}, or on the command line "
            f"--{example.replace('=', ' ').replace(chr(39), '')}."
        )
    if said is not None and given is not None and said != given:
        raise RecordingError(
            f"{path}: says that its {what} is {said}, not {given}. Leave it out, or correct the file."
        )
    return said if said is not None else given


def _read_archive(path: Path, fps: float | None, unit: str | None) -> Tracks:
    if unit not in (None, "m"):
        raise RecordingError(f"{path}: places in HDF5 files are in m, not {unit}.")
    archive = read_archive(path)
    columns = archive.columns
    try:
        said = None if archive.fps is None else float(archive.fps)
    except ValueError:
        raise RecordingError(f"{path}: its frame rate is {archive.fps!r:.40}, which is no number.") from None
    ground = None if archive.ground is None else _ground(path, archive.ground)
    if not len(columns["id"]):
        raise RecordingError(f"{path}: holds nobody.")
    fault = _fault(columns)
    if fault:
        raise RecordingError(f"{path}: {fault}")
    rate = _agreed(path, "frames a second", "fps=25", said, fps)
    return make_tracks(
        str(path), rate, columns["id"], columns["frame"], columns["x"], columns["y"], ground=ground
    )


def _ground(path: Path, text: str) -> Any:
    """Return the ground of an archive, a shapely Polygon or MultiPolygon in metres."""
    try:
        polygons = [piece.polygon for piece in pieces_of_wkt(text)]
    except GeometryRefused as error:
        raise RecordingError(f"{path}: its ground, wkt_geometry, cannot be read: {error}") from None
    ground = polygons[0] if len(polygons) == 1 else shapely.MultiPolygon(polygons)
    if not shapely.is_valid(ground) or ground.is_empty:
        raise RecordingError(
            f"{path}: its ground, wkt_geometry, is no area: {shapely.is_valid_reason(ground)}. Correct it, "
            "or leave it out."
        )
    return ground
