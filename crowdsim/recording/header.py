"""The header: everything that is known of a run before its first tick, enough to run it again."""

from __future__ import annotations

import datetime
import functools
import importlib
import json
import math
import os
import platform
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Any

from crowdsim.errors import RecordingError
from crowdsim.old_names import COLUMNS, COUNTS, SYSTEMS, names_of_now
from crowdsim.printable import counted
from crowdsim.recording.renamed import parameters_of_today, scenario_of_today
from crowdsim.recording.schema import FORMAT, FORMAT_VERSION, RecordedColumn, RecordedCount, check_names

MOST_TICK_S = 3600.0  # Scenarios have at most 1 s. Larger makes times that no number holds.
MOST_TICKS = 2**40  # At a millisecond each, 35 years.
# Scenario texts with maps inside have some megabytes. Larger lets a hostile file fill the memory of a reader.
MAXIMUM_HEADER_BYTES = 64 * 2**20
_PACKAGES = ("crowdsim", "numpy", "numba", "llvmlite", "h5py", "esper", "shapely", "isal")


@functools.cache  # reading them takes 9 ms, and they stay what they are while a process lives
def software_versions() -> Mapping[str, str]:
    """Return the versions of Python, of the packages that a run depends on, and of the HDF5 library."""
    import h5py

    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = metadata.version(package)
        except metadata.PackageNotFoundError:  # a source folder that was never installed
            found[package] = str(getattr(importlib.import_module(package), "__version__", "unknown"))
    return found | {"hdf5": h5py.version.hdf5_version}


def processor() -> str:
    """Return the processor's name, with the one that kernels were compiled for
    where the user chose another.
    """
    name = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        name = next((line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), name)
    except OSError:  # no such file on this system
        pass
    chosen = os.environ.get("NUMBA_CPU_NAME")
    return f"{name} (compiled for {chosen})" if chosen else name


def new_run_id() -> str:
    """Return an id that no other run has."""
    return secrets.token_hex(4)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


@dataclass(frozen=True)
class Header:
    """What is known of a run before its first tick.

    Attributes
    ----------
    name : str
        Name of the scenario.
    scenario : str
        The scenario in its canonical text: enough to run it again.
    seed : int
    tick_s : float, s
        Length of a tick.
    ticks_per_frame : int
        Every how many ticks a frame is recorded.
    ground : tuple of str
        Walkable ground as WKT (POLYGON or MULTIPOLYGON, metres), one text for each layer in the order of
        their numbers; may be empty.
    layers, groups, goals : tuple of str
        Names by index.
    parameters : mapping
        Every tunable number by its full name, as used.
    plugins : mapping
        Models that are not crowdsim's own, by name: file and SHA-256 of the source, and the entry point if an
        installed package has it.
    threads : int
        Threads that the run was started with; they change nothing but the time.
    exact : bool
        Columns are kept in full precision (`RecordedColumn.exact`).
    reproducible : bool
        False if a clock decided anything (the wall-clock budget).
    first_tick : int
        The tick before which this recording knows nothing: above 0 where the run goes on from a checkpoint of
        another (`crowdsim fork`).
    stuck_by : str
        What being stuck means in it: ``progress`` along the path; or, in recordings that do not say, net
        ``displacement``, see docs/guides/deadlocks.md.
    cut : mapping
        Of a recording that `cut_run` has cut out of another: which one, and the bounds
        (`crowdsim.recording.cut`); empty for a run that is kept as it was recorded.
    run_id : str
        Distinguishes two runs of one scenario; a run that goes on after a stop keeps it.
    started : str
        UTC, ISO 8601. A clock reading: no digest includes it.
    versions : mapping
        Software, see `software_versions`.
    cpu : str
    """

    name: str
    scenario: str
    seed: int
    tick_s: float
    ticks_per_frame: int = 1
    ground: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=dict)
    plugins: Mapping[str, Any] = field(default_factory=dict)
    threads: int = 1
    exact: bool = False
    reproducible: bool = True
    first_tick: int = 0
    stuck_by: str = "displacement"
    cut: Mapping[str, Any] = field(default_factory=dict)
    run_id: str = field(default_factory=new_run_id)
    started: str = field(default_factory=_now)
    versions: Mapping[str, str] = field(default_factory=software_versions)
    cpu: str = field(default_factory=processor)

    def __repr__(self) -> str:
        groups, goals = counted(len(self.groups), "group"), counted(len(self.goals), "goal")
        return (
            f"<Header of {self.name}: seed {self.seed}, tick {self.tick_s:g} s, {groups}, {goals}, "
            f"run {self.run_id}>"
        )

    def __post_init__(self) -> None:
        if not 0.0 < self.tick_s <= MOST_TICK_S:
            raise ValueError(
                f"tick_s is {self.tick_s}, but a tick has a length above 0 s, of at most {MOST_TICK_S:g} s"
            )
        if not 1 <= self.ticks_per_frame < MOST_TICKS:
            raise ValueError(f"ticks_per_frame is {self.ticks_per_frame}, but a frame needs at least 1 tick")
        if not 0 <= self.first_tick < MOST_TICKS:
            raise ValueError(f"first_tick is {self.first_tick}, but ticks are counted from 0")
        if not self.run_id.isalnum() or len(self.run_id) > 32:
            raise ValueError(
                f"run_id is {self.run_id!r}: at most 32 letters and digits, since it is part of file names"
            )

    @property
    def fps(self) -> float:
        """Frames per second of simulated time."""
        return 1.0 / (self.tick_s * self.ticks_per_frame)

    def wkt_geometry(self) -> str:
        """Return the ground of all layers seen from above as one WKT text; empty where there is none.

        A POLYGON wherever the ground hangs together, so that PedPy reads it. Ground in several pieces is a
        MULTIPOLYGON, which PedPy refuses: a single piece in its place would have people walk outside it.
        `crowdsim export --format pedpy` writes one file for each piece.
        """
        if not self.ground:
            return ""
        import shapely

        if len(self.ground) == 1 and self.ground[0].lstrip().upper().startswith("POLYGON"):
            return self.ground[0]
        merged = shapely.union_all([shapely.from_wkt(text) for text in self.ground])
        return str(merged.wkt)


@dataclass(frozen=True)
class Layout:
    """Which columns, counts and clocks a recording has.

    Attributes
    ----------
    columns : tuple of RecordedColumn
        Kept for every agent in every frame.
    systems : tuple of str
        Names of the systems whose time is kept for every tick.
    counts : tuple of RecordedCount
        Kept for every tick.
    digests : tuple of str
        Names of the columns of the world whose digest is kept for every tick.
    trace : bool
        Digests after every system and for every block of agents are kept as well.
    explain : bool
        What stood behind the velocities of some agents is kept for every tick.
    interventions : bool
        What a program does to the run is kept. Recordings of before have none.
    traced : tuple of str
        Further columns of the world of which the trace has digests: what only systems among themselves pass
        on. In ``trace/index`` they are counted on after `digests`.
    renamed : mapping of str to str
        Of a recording that was read: what stands under another name in the file, by that of today; parameters
        of its header too. No part of what is written.
    """

    columns: tuple[RecordedColumn, ...] = ()
    systems: tuple[str, ...] = ()
    counts: tuple[RecordedCount, ...] = ()
    digests: tuple[str, ...] = ()
    trace: bool = False
    explain: bool = False
    interventions: bool = False
    traced: tuple[str, ...] = ()
    renamed: Mapping[str, str] = field(default_factory=dict, compare=False)

    def __post_init__(self) -> None:
        check_names("column", [column.name for column in self.columns])
        check_names("count", ["tick", *(count.name for count in self.counts)])
        check_names("system", self.systems)
        check_names("digest", self.trace_columns)
        for column in self.columns:
            if column.width not in (1, 2):
                raise ValueError(
                    f"column {column.name!r} has width {column.width}, but 1 (scalar) and 2 (vector) are "
                    "recorded"
                )

    @property
    def trace_columns(self) -> tuple[str, ...]:
        """Names of the columns of the world that ``trace/index`` means by its numbers."""
        return (*self.digests, *self.traced)

    def of_today(self) -> Layout:
        """Return this layout with the names of today in the place of those that were others before."""
        systems = names_of_now(self.systems, SYSTEMS)
        traced = names_of_now(self.trace_columns, COLUMNS)
        counts = names_of_now([count.name for count in self.counts], COUNTS)
        columns = names_of_now([column.name for column in self.columns], COLUMNS)
        digests = len(self.digests)
        now = replace(
            self,
            systems=systems,
            digests=traced[:digests],
            traced=traced[digests:],
            counts=tuple(replace(each, name=name) for each, name in zip(self.counts, counts, strict=True)),
            columns=tuple(replace(each, name=name) for each, name in zip(self.columns, columns, strict=True)),
        )
        names = zip(now._names(), self._names(), strict=True)
        return replace(now, renamed={today: before for today, before in names if today != before})

    def _names(self) -> list[str]:
        """Return all names: of systems, columns and counts."""
        kept = [each.name for each in self.columns], [each.name for each in self.counts]
        return [*self.systems, *self.trace_columns, *kept[0], *kept[1]]


def plain(value: Any) -> Any:
    """Return `value` with mappings as dicts, sequences as lists, and numbers
    that JSON cannot write as text.
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else str(value)
    if isinstance(value, (str, int, bool)) or value is None:
        return value
    return plain(value.item()) if hasattr(value, "item") else str(value)


class OtherVersion(ValueError):
    """A recording is of another version of the format than the one that is read.

    Attributes
    ----------
    version : int
        0 where it says none.
    """

    def __init__(self, version: Any) -> None:
        self.version = version if isinstance(version, int) and not isinstance(version, bool) else 0
        super().__init__(
            f"it has format version {version!r:.40}, but this crowdsim reads version {FORMAT_VERSION}"
        )


def to_json(header: Header, layout: Layout) -> bytes:
    """Return header and layout as UTF-8 JSON, at most `MAXIMUM_HEADER_BYTES`.

    Raises
    ------
    RecordingError
        If it would be longer.
    """
    document = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "header": plain(asdict(header)),
        "layout": {name: plain(value) for name, value in asdict(layout).items() if name != "renamed"},
    }
    text = json.dumps(document, allow_nan=False, ensure_ascii=False, indent=1).encode()
    if len(text) > MAXIMUM_HEADER_BYTES:
        raise RecordingError(
            f"The header of the recording would have {len(text) / 2**20:.0f} MiB, but at most "
            f"{MAXIMUM_HEADER_BYTES // 2**20} are kept. "
            "Keep large maps in files beside the scenario."
        )
    return text


def from_json(text: bytes, version: int = FORMAT_VERSION) -> tuple[Header, Layout]:
    """Return what `to_json` wrote.

    Parameters
    ----------
    text : bytes
    version : int
        The version of the format that is expected.

    Raises
    ------
    OtherVersion
        If it has another one.
    ValueError
        If `text` is no such thing; the message says what is wrong.
    """
    document = json.loads(text)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise ValueError("it does not call itself a crowdsim recording")
    if document.get("format_version") != version:
        raise OtherVersion(document.get("format_version"))
    raw_header, raw_layout = document.get("header"), document.get("layout")
    if not isinstance(raw_header, dict) or not isinstance(raw_layout, dict):
        raise ValueError("its header has no content")
    for key, value in {**raw_header, **raw_layout}.items():
        if key not in ("scenario", "ground") and _has_lines(value):
            raise ValueError(f"its header is not as it should be ({key} holds control characters)")
    try:
        return _of_today(Header(**_typed(Header, raw_header)), _layout(raw_layout))
    except (TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"its header is not as it should be ({error})") from error


def _of_today(header: Header, layout: Layout) -> tuple[Header, Layout]:
    """Return header and layout with the names of today."""
    parameters = parameters_of_today(header.parameters, header.plugins)
    renamed = {
        now: before for now, before in zip(parameters, header.parameters, strict=True) if now != before
    }
    scenario = scenario_of_today(header.scenario, header.plugins)
    layout = layout.of_today()
    return (
        replace(header, scenario=scenario, parameters=parameters),
        replace(layout, renamed={**layout.renamed, **renamed}),
    )


def _has_lines(value: Any) -> bool:
    """Return whether a text somewhere in a value has more than one line, or control characters:
    ours are names and numbers.
    """
    if isinstance(value, dict):
        return any(_has_lines(key) or _has_lines(item) for key, item in value.items())
    if isinstance(value, list):
        return any(_has_lines(item) for item in value)
    return isinstance(value, str) and any(letter < " " for letter in value)


def _layout(raw: dict[str, Any]) -> Layout:
    given = dict(raw)
    given["columns"] = tuple(RecordedColumn(**_typed(RecordedColumn, item)) for item in raw["columns"])
    given["counts"] = tuple(RecordedCount(**_typed(RecordedCount, item)) for item in raw["counts"])
    given.pop("renamed", None)
    return Layout(**_typed(Layout, given))


# of fields: which values have the type, and what others are called; the value itself, where that is short
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    "str": ((str,), ""),
    "int": ((int,), ""),
    "float": ((int, float), ""),
    "bool": ((bool,), ""),
    "tuple": ((list, tuple), "no list"),
    "Mapping": ((dict,), "no table"),
}


def _typed(owner: type, raw: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of `owner` that `raw` has, lists as tuples;
    a value of another type than the field's is a TypeError.
    """
    found: dict[str, Any] = {}
    for item in fields(owner):
        if item.name not in raw:
            continue
        value, kind = raw[item.name], str(item.type)
        expected, what = _KINDS[kind.partition("[")[0]]
        if not isinstance(value, expected) or (isinstance(value, bool) and kind != "bool"):
            raise TypeError(f"{item.name} is {what or repr(value)}")
        if kind == "tuple[str, ...]" and not all(isinstance(entry, str) for entry in raw[item.name]):
            raise TypeError(f"{item.name} holds something that is no text")
        found[item.name] = tuple(value) if isinstance(value, list) else value
    return found
