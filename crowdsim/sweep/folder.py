"""The folder of a sweep: what it holds, and how every file in it comes into being whole.

``manifest.json`` says which runs were asked for; ``results/<id>.json`` is written last by a run that ended,
``recordings/<id>.h5`` just before it; ``logs/<id>.txt`` has what a failed run printed; ``runs`` and
``timings`` are the tables. What runs write before they end lies in ``.scratch`` and goes with them. A run is
known by its result or its recording, never by times of files.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import shutil
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from crowdsim.errors import CrowdsimError, RecordingError
from crowdsim.recording.opening import open_run
from crowdsim.sweep.measures import clocks_of, flat_places, measures_of

FORMAT = "crowdsim sweep"
FORMAT_VERSION = 1
FINISHED = "finished"
FAILURES = ("error", "memory", "timeout", "killed", "lost")  # what a run's `status` can be besides


class Folder:
    """The files of one sweep.

    Parameters
    ----------
    path : Path
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.manifest = path / "manifest.json"

    def recording(self, identity: str) -> Path:
        """Return where the recording of a run is kept."""
        return self.path / "recordings" / f"{identity}.h5"

    def result(self, identity: str) -> Path:
        """Return the file with the results of a run."""
        return self.path / "results" / f"{identity}.json"

    def log(self, identity: str) -> Path:
        """Return where it stands what a failed run printed."""
        return self.path / "logs" / f"{identity}.txt"

    @property
    def scratch(self) -> Path:
        """Where runs that go on write, if no other place is given, and what is known of them."""
        return self.path / ".scratch"

    def require_usable(self) -> None:
        """Raise `CrowdsimError` if the path is something else than the folder of a sweep,
        or a place for one.
        """
        if self.manifest.is_file():
            self.read_manifest()
        elif (
            self.path.exists()
            and not (self.path / ".lock").is_file()
            and (not self.path.is_dir() or any(self.path.iterdir()))
        ):
            raise CrowdsimError(
                f"{self.path}: there is something else that is no sweep. Choose another place with --out DIR."
            )

    def read_manifest(self) -> dict[str, Any]:
        """Return what was asked for, as `crowdsim.sweep.supervise.manifest_of` made it.

        Raises
        ------
        CrowdsimError
            If it is of something else.
        RecordingError
            If there is none, or it cannot be read.
        """
        try:
            document = json.loads(self.manifest.read_bytes())
        except FileNotFoundError:
            raise RecordingError(
                f"{self.path}: is a folder, but not of a sweep: it has no {self.manifest.name}. Name a file "
                "in it, or the folder that crowdsim sweep has made."
            ) from None
        except (OSError, ValueError) as error:
            raise RecordingError(
                f"{self.manifest}: cannot be read ({error}). Remove it, and run the same command: finished "
                "runs are kept beside it."
            ) from None
        if (
            not isinstance(document, dict)
            or document.get("format") != FORMAT
            or document.get("format_version") != FORMAT_VERSION
        ):
            raise CrowdsimError(
                f"{self.manifest}: is no manifest of a sweep that this version reads. Choose another place "
                "with --out DIR."
            )
        return document

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Make the folder, keep other sweeps out of it, and leave no scratch behind.

        Raises
        ------
        CrowdsimError
            If another sweep is at work in it.
        RecordingError
            If it cannot be made.
        """
        with contextlib.ExitStack() as held:
            try:
                for name in ("results", "recordings", "logs", ".scratch"):
                    (self.path / name).mkdir(parents=True, exist_ok=True)
                lock = held.enter_context((self.path / ".lock").open("a"))
            except OSError as error:
                raise RecordingError(
                    f"{self.path}: the folder of the sweep cannot be made ({error.strerror}). Choose another "
                    "place with --out DIR."
                ) from None
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CrowdsimError(
                    f"{self.path}: another sweep is at work in this folder. Wait for it, or choose another "
                    "place with --out DIR."
                ) from None
            self._clear_scratch()
            held.callback(self._clear_scratch)
            yield

    def _clear_scratch(self) -> None:
        for left in self.scratch.iterdir():
            if left.is_dir():
                shutil.rmtree(left, ignore_errors=True)
            else:
                left.unlink(missing_ok=True)
        for name in ("", "results", "recordings", "logs"):
            for half in (self.path / name).glob(".*.tmp"):
                half.unlink(missing_ok=True)

    def known(self, identity: str, *, recorded: bool) -> dict[str, Any] | None:
        """Return what is known of a run; None if it has to run.

        Parameters
        ----------
        identity : str
        recorded : bool
            A finished run counts only with its recording.
        """
        result = self.read_result(identity)
        if result is None and self.recording(identity).is_file():
            result = self._from_recording(identity)
        if (
            result is not None
            and result["status"] == FINISHED
            and recorded
            and not self.recording(identity).is_file()
        ):
            return None
        return result

    def read_result(self, identity: str) -> dict[str, Any] | None:
        """Return the results of a run, or None if there is no whole file that says so."""
        try:
            result = json.loads(self.result(identity).read_bytes())
        except (OSError, ValueError):
            return None
        is_one = isinstance(result, dict) and result.get("status") in (FINISHED, *FAILURES)
        return (
            result
            if is_one and all(isinstance(result.get(part), dict) for part in ("measures", "timings"))
            else None
        )

    def _from_recording(self, identity: str) -> dict[str, Any] | None:
        """Return, and keep, the result of a run that was killed after it had kept its recording."""
        from crowdsim.measures.report import scenario_figures  # loads pandas, which few sweeps need for it

        try:
            with open_run(self.recording(identity)) as run:
                verdict = run.verdict if run.is_whole else None
                if not verdict or not isinstance(verdict.get("result"), dict) or not verdict["result"]:
                    return None
                result = finished_result(identity, verdict["result"], scenario_figures(run))
        except RecordingError:
            return None
        write_json(self.result(identity), result)
        return result


def finished_result(
    identity: str, verdict: Mapping[str, Any], places: Mapping[str, Any], **timings: float
) -> dict[str, Any]:
    """Return the result of a run that came to its end.

    Parameters
    ----------
    identity : str
    verdict : mapping
    places : mapping
        Figures of the lines and areas that the scenario names, `crowdsim.measures.report.scenario_figures`.
    **timings : float
        More clock readings.
    """
    return {
        "id": identity,
        "status": FINISHED,
        "error": "",
        "measures": {**measures_of(verdict), **flat_places(places)},
        "timings": {**clocks_of(verdict), **timings},
    }


def write_json(path: Path, value: Any) -> None:
    """Write a value as JSON, so that the file is whole whenever it is there."""
    write_whole(path, json.dumps(value, ensure_ascii=False, allow_nan=False, indent=1).encode())


def write_whole(path: Path, content: bytes) -> None:
    """Write a file, so that it is whole whenever it is there.

    Raises
    ------
    RecordingError
        If it cannot be written.
    """
    half = _unfinished(path)
    try:
        half.write_bytes(content)
        half.replace(path)
    except OSError as error:
        half.unlink(missing_ok=True)
        raise RecordingError(f"{path}: cannot be written ({error.strerror}).") from None


def move_whole(made: Path, path: Path) -> None:
    """Give a finished file its name, on another disk too; the file there is whole whenever it has that name.

    Parameters
    ----------
    made : Path
        The file; it is gone afterwards.
    path : Path
        Its name from now on.

    Raises
    ------
    RecordingError
        If it cannot be written there.
    """
    half = _unfinished(path)
    try:
        if made.stat().st_dev == path.parent.stat().st_dev:
            made.replace(path)
            return
        shutil.copyfile(made, half)
        with half.open("rb+") as copied:
            # A name that the disk knows before what it names would be half a recording after a power cut.
            os.fsync(copied.fileno())
        half.replace(path)
        made.unlink()
    except OSError as error:
        half.unlink(missing_ok=True)
        raise RecordingError(f"{path}: cannot be written ({error.strerror}).") from None


def _unfinished(path: Path) -> Path:
    """Return a name beside a file that no other process has, on this machine or another."""
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")
