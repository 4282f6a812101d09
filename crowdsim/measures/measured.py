"""Measured people: trajectories as experiments publish them, in text or HDF5, made into the same tracks as recorded runs."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import numpy as np

from crowdsim.errors import RecordingError
from crowdsim.measures.tracks import Tracks, make_tracks

TEXT_ENDINGS = (".txt", ".dat", ".trc")
PER_METRE = {"m": 1.0, "cm": 100.0, "mm": 1000.0}
_ARCHIVE_COLUMNS = ("id", "frame", "x", "y")


def is_measured(path: Path) -> bool:
    """Return whether a file holds measured people: text by its ending, HDF5 if it has trajectories and is no recording of ours."""
    if path.suffix.lower() in TEXT_ENDINGS:
        return True
    import h5py

    try:
        with h5py.File(path, "r") as file:
            return "trajectory" in file and "commit" not in file
    except OSError:  # missing, cut off or no HDF5: the reader of recordings says which
        return False


def read_measured(path: str | os.PathLike[str], *, fps: float | None = None, unit: str | None = None) -> Tracks:
    """Read the trajectories of measured people.

    Parameters
    ----------
    path : path
        Text with the columns id, frame, x, y and more that are not read, parted by blanks, lines of comment after ``#``; or HDF5 as archives have it: a
        table `trajectory` with at least id, frame, x and y (m) and the attribute `fps`, which may be a text like '25.0'; `wkt_geometry` is the ground.
    fps : float, 1/s, optional
        Frames a second; needed where the file does not say (text does in a line of comment like ``# framerate: 25 fps``), refused where it says otherwise.
    unit : {'m', 'cm', 'mm'}, optional
        Of the places in a text; needed where it does not say (``# id frame x/cm y/cm z/cm``), refused where it says otherwise.

    Returns
    -------
    Tracks
        Heights are left out: they are those of heads.

    Raises
    ------
    RecordingError
        If it cannot be read, or something that it does not say is missing.
    """
    target = Path(path)
    if not target.is_file():
        raise RecordingError(f'{target}: there is no such file. Is "{target.parent}" the right folder?')
    return _read_text(target, fps, unit) if target.suffix.lower() in TEXT_ENDINGS else _read_archive(target, fps, unit)


def _read_text(path: Path, fps: float | None, unit: str | None) -> Tracks:
    import pandas as pd

    try:
        said_fps, said_unit = _said(path)
        rows = pd.read_csv(path, sep=r"\s+", comment="#", header=None, usecols=[0, 1, 2, 3], names=list(_ARCHIVE_COLUMNS), encoding="utf-8-sig")
        numbers = rows.astype({"id": np.float64, "frame": np.float64, "x": np.float64, "y": np.float64})
    except (ValueError, pd.errors.ParserError, UnicodeDecodeError, OSError) as error:
        wanted = "id, frame, x, y, parted by blanks"
        raise RecordingError(f"{path}: is no table of trajectories ({str(error).splitlines()[0][:120]}); each line has {wanted}.") from None
    if not len(numbers):
        raise RecordingError(f"{path}: holds nobody.")
    whole = numbers[["id", "frame"]]
    if not bool((whole == whole.round()).all().all()):
        raise RecordingError(f"{path}: the first two columns, id and frame, are not all whole numbers; each line has id, frame, x, y.")
    rate = _agreed(path, "frames a second", "fps=25", said_fps, fps)
    per_metre = PER_METRE[_agreed(path, "unit of places", "unit='cm'", said_unit, _known_unit(path, unit))]
    x, y = numbers["x"].to_numpy() / per_metre, numbers["y"].to_numpy() / per_metre
    return make_tracks(str(path), rate, numbers["id"].to_numpy(), numbers["frame"].to_numpy(), x, y)


def _said(path: Path) -> tuple[float | None, str | None]:
    """Return what the lines of comment at the begin of a text say of its frame rate and unit."""
    rate, unit = None, None
    with path.open(encoding="utf-8-sig") as lines:
        for line in lines:
            if not line.startswith("#"):
                break
            if rate is None and (found := re.search(r"frame\s*rate\D*([0-9]+(?:\.[0-9]*)?)", line, re.IGNORECASE)):
                rate = float(found[1])
            if found := re.search(r"\bx\s*/\s*(mm|cm|m)\b", line, re.IGNORECASE) or re.search(r"\bin (mm|cm|m)\b", line, re.IGNORECASE):
                unit = found[1].lower()
    return rate, unit


def _known_unit(path: Path, unit: str | None) -> str | None:
    if unit is not None and unit not in PER_METRE:
        raise RecordingError(f'{path}: "{unit}" is no unit of places. Known are {", ".join(PER_METRE)}.')
    return unit


def _agreed(path: Path, what: str, example: str, said: Any, given: Any) -> Any:
    """Return what the file and the caller say, if one of them says it and they do not disagree."""
    if said is None and given is None:
        raise RecordingError(f"{path}: does not say its {what}. Give it: {example}, or on the command line --{example.replace('=', ' ').replace(chr(39), '')}.")
    if said is not None and given is not None and said != given:
        raise RecordingError(f"{path}: says that its {what} is {said}, not {given}. Leave it out, or correct the file.")
    return said if said is not None else given


def _read_archive(path: Path, fps: float | None, unit: str | None) -> Tracks:
    import h5py
    import shapely

    if unit not in (None, "m"):
        raise RecordingError(f"{path}: places in HDF5 files are in m, not {unit}.")
    try:
        with h5py.File(path, "r") as file:
            if not isinstance(file.get("trajectory", getlink=True), h5py.HardLink) or not isinstance(file["trajectory"], h5py.Dataset):
                raise RecordingError(f"{path}: has no table called trajectory.")
            table = file["trajectory"]
            missing = [name for name in _ARCHIVE_COLUMNS if name not in (table.dtype.names or ())]
            if missing:
                raise RecordingError(f"{path}: its table of trajectories has no column {', '.join(missing)}.")
            said, text = table.attrs.get("fps"), file.attrs.get("wkt_geometry")
            rows = {name: table[name] for name in _ARCHIVE_COLUMNS}
    except OSError as error:
        raise RecordingError(f"{path}: cannot be read ({str(error).splitlines()[0][:120]}).") from None
    try:
        said = None if said is None else float(_as_text(said))
    except ValueError:
        raise RecordingError(f"{path}: its frame rate is {_as_text(said)!r}, which is no number.") from None
    try:
        ground = None if text is None else shapely.from_wkt(_as_text(text))
    except (shapely.errors.ShapelyError, NotImplementedError):  # the latter for arcs
        raise RecordingError(f"{path}: its ground, wkt_geometry, is no well-known text.") from None
    if not len(rows["id"]):
        raise RecordingError(f"{path}: holds nobody.")
    return make_tracks(str(path), _agreed(path, "frames a second", "fps=25", said, fps), rows["id"], rows["frame"], rows["x"], rows["y"], ground=ground)


def _as_text(value: Any) -> str:
    """Return an HDF5 attribute, which may be bytes or an array of one, as text."""
    single = np.asarray(value).reshape(-1)[0] if np.size(value) == 1 else value
    return single.decode() if isinstance(single, bytes) else str(single)
