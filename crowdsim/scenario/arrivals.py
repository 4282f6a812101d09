"""When agents of a group come in while the run lasts, and where: resolved, and checked."""

from __future__ import annotations

import csv
import itertools
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from crowdsim.scenario import schema
from crowdsim.scenario.area_reader import AreaReader
from crowdsim.scenario.distributions import MOST_MEANS, Distribution, complaint, distribution_from, number
from crowdsim.scenario.files import FileAccess
from crowdsim.scenario.limits import MAX_AGENTS, MAX_SCHEDULE
from crowdsim.scenario.tree import Path, Problems, Refused

NO_LIMIT = math.inf
WHEN = ("rate", "gap", "schedule", "schedule_file", "trains")  # exactly one of these is given
_RATE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?|\.[0-9]+)\s*/\s*(s|min|h)\s*")
_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0}
_MOST_RATE = 1e5  # Agents a second: more than any machine simulates.
_LEAST_GAP_S = 1.0 / _MOST_RATE
_MOST_GAP_S = 1e9
# A distribution of gaps that is mostly 0 would let all agents come at once, for ever.
_LEAST_MEAN_S = 1e-5


@dataclass(frozen=True)
class Trains:
    """Agents that come in bursts.

    Attributes
    ----------
    people : Distribution
        How many come in each; fractions are cut off.
    within : float, s
        From the first to the last of a burst.
    at : tuple of float, s
        When bursts begin; empty where they come at intervals.
    every : float, s
        From one to the next; 0 where `at` says when.
    """

    people: Distribution
    within: float
    at: tuple[float, ...] = ()
    every: float = 0.0


@dataclass(frozen=True, eq=False)
class Arrivals:
    """When agents of a group come in while the run lasts, and where. One of `gap`, `schedule` and `trains` is
    given.

    Attributes
    ----------
    gap : Distribution or None, s
        Time between one agent and the next; a number where they come at equal intervals.
    schedule : tuple of (float, int)
        At which times (s, ascending) how many come.
    trains : Trains or None
    after, until : float, s
        From when on agents come, and from when on none; `until` may be infinite.
    at_most : int, or infinite
        How many come in all.
    doors : tuple of shapely Polygon or MultiPolygon
        Areas in which they come in, in turn; empty where that is the group's region.
    """

    gap: Distribution | None = None
    schedule: tuple[tuple[float, int], ...] = ()
    trains: Trains | None = None
    after: float = 0.0
    until: float = NO_LIMIT
    at_most: float = NO_LIMIT
    doors: tuple[Any, ...] = ()

    def data(self, areas: Callable[[Any], Any]) -> dict[str, Any]:
        """Return them as a scenario says them, with every number; `areas` writes an area."""
        found: dict[str, Any] = {}
        if self.gap is not None:
            found["gap"] = self.gap.data()
        elif self.trains is not None:
            trains: dict[str, Any] = {"people": self.trains.people.data(), "within": self.trains.within}
            trains |= {"at": list(self.trains.at)} if self.trains.at else {"every": self.trains.every}
            found["trains"] = trains
        else:
            found["schedule"] = [[time, count] for time, count in self.schedule]
        if self.after > 0.0:
            found["after"] = self.after
        if self.until < NO_LIMIT:
            found["until"] = self.until
        if self.at_most < NO_LIMIT:
            found["at_most"] = int(self.at_most)
        if self.doors:
            found["doors"] = [areas(door) for door in self.doors]
        return found


def resolve_arrivals(
    shape: schema.ArriveShape, path: Path, reader: AreaReader, problems: Problems
) -> Arrivals | None:
    """Return when agents come in; None after a problem was added."""
    given = [key for key in WHEN if getattr(shape, key) is not None]
    if len(given) != 1:
        if not given:
            problems.add(path, "does not say when agents come", f"Give one of {', '.join(WHEN)}.")
        else:
            problems.add(
                (*path, given[1]), f"{given[0]} and {given[1]} are both given", "Keep one.", key=True
            )
        return None
    if shape.process is not None and shape.rate is None:
        problems.add((*path, "process"), "only a rate has a process", "Leave it out, or give rate.", key=True)
    if shape.until is not None and shape.until <= shape.after:
        problems.add(
            (*path, "until"),
            f"is {shape.until:g} s, but agents come from {shape.after:g} s on: none would",
            "Make it later.",
        )
    found: dict[str, Any] | None = None
    if given[0] in ("rate", "gap"):
        gap = _gap(shape, path, problems)
        found = {"gap": gap} if gap is not None else None
    elif given[0] == "trains":
        trains = _trains(shape, path, problems)
        found = {"trains": trains} if trains is not None else None
    else:
        batches = _schedule(shape, path, reader.access, problems)
        found = {"schedule": batches} if batches is not None else None
    doors = tuple(
        reader.united(door, (*path, "doors", index)) for index, door in enumerate(shape.doors or ())
    )
    if found is None or any(door is None for door in doors):
        return None
    return Arrivals(
        **found,
        after=float(shape.after),
        until=NO_LIMIT if shape.until is None else float(shape.until),
        at_most=NO_LIMIT if shape.at_most is None else shape.at_most,
        doors=doors,
    )


def _gap(shape: schema.ArriveShape, path: Path, problems: Problems) -> Distribution | None:
    if shape.gap is not None:
        gap = distribution_from(shape.gap)
        wrong = complaint(shape.gap, gap, least=0.0, most=_MOST_GAP_S, unit="s", positive=False)
        if wrong is None and gap.high < _LEAST_MEAN_S:
            wrong = f"is at most {gap.high:g} s: all agents would come at once", "Give a schedule for that."
        if wrong is not None:
            problems.add((*path, "gap"), *wrong)
            return None
        return gap
    rate = agents_a_second(shape.rate, (*path, "rate"), problems)
    if not rate:
        return None
    if shape.process == "poisson":
        return Distribution("exponential", 0.0, MOST_MEANS / rate, 1.0 / rate)
    return number(1.0 / rate)


def agents_a_second(given: Any, path: Path, problems: Problems) -> float:
    """Return a rate as agents a second; 0 after a problem was added."""
    parts = _RATE.fullmatch(given) if isinstance(given, str) else None
    rate = 0.0
    if parts is not None:
        rate = float(parts[1]) / _SECONDS[parts[2]]
    elif not isinstance(given, str):
        rate = float(given)
    if 0.0 < rate <= _MOST_RATE:
        return rate
    problems.add(
        path,
        f"{given!r} is no rate above 0 and up to {_MOST_RATE:,.0f} a second",
        "Write a number of agents a second, or 2/s, 90/min, 1200/h.",
    )
    return 0.0


def _trains(shape: schema.ArriveShape, path: Path, problems: Problems) -> Trains | None:
    own, path = shape.trains, (*path, "trains")
    assert own is not None
    if (own.at is None) == (own.every is None):
        problems.add(path, "trains come at given times or at intervals", "Give at, or every; one of both.")
        return None
    people = distribution_from(own.people)
    wrong = complaint(own.people, people, least=0.0, most=float(MAX_AGENTS), unit="agents", positive=False)
    if wrong is not None:
        problems.add((*path, "people"), *wrong)
        return None
    if own.every is not None and own.every < own.within:
        problems.add(
            (*path, "within"),
            f"is {own.within:g} s, but the next train comes after {own.every:g} s",
            "One burst ends before the next begins.",
        )
        return None
    at = sorted(float(time) for time in own.at or ())
    for before, after in itertools.pairwise(at):
        if after - before < own.within:
            problems.add(
                (*path, "at"),
                f"the trains at {before:g} s and {after:g} s are less than {own.within:g} s apart",
                "One burst ends before the next begins.",
            )
            return None
    return Trains(people, float(own.within), tuple(at), float(own.every or 0.0))


def _schedule(
    shape: schema.ArriveShape, path: Path, access: FileAccess, problems: Problems
) -> tuple[tuple[float, int], ...] | None:
    """Return the times at which agents come, ascending, with how many."""
    if shape.schedule_file is not None:
        at = (*path, "schedule_file")
        try:
            rows = read_table(access.read(shape.schedule_file), ("time", "count"))
        except Refused as error:
            problems.add(at, f'"{shape.schedule_file}": {error}', error.way_out)
            return None
        given = [(row, [row["time"], row["count"]]) for row in rows]
        places = [(at, f'"{shape.schedule_file}", line {row["line"]}: ') for row, _ in given]
        batches = [batch for _, batch in given]
    else:
        batches = [list(batch) for batch in shape.schedule or ()]
        places = [((*path, "schedule", index), "") for index in range(len(batches))]
    found: dict[float, int] = {}
    for (at, where), (time, count) in zip(places, batches, strict=True):
        if not 0.0 <= time <= _MOST_GAP_S:
            problems.add(at, f"{where}the time {time:g} s is none", "Times are 0 s and later.")
            return None
        if count != int(count) or not 0 <= count <= MAX_AGENTS:
            problems.add(at, f"{where}{count:g} is no number of agents", "Give a whole number, 0 or more.")
            return None
        found[float(time)] = found.get(float(time), 0) + int(count)
    return tuple(sorted((time, count) for time, count in found.items() if count))


def read_table(text: str, columns: tuple[str, ...], texts: tuple[str, ...] = ()) -> list[dict[str, Any]]:
    """Return the rows of a table in CSV whose first line names the columns, each with its `line`.

    Parameters
    ----------
    text : str
    columns : tuple of str
        That it has to have; others are passed over.
    texts : tuple of str
        Those of them that are no numbers.

    Raises
    ------
    Refused
        If it is no such table.
    """
    lines = csv.reader(text.splitlines(), skipinitialspace=True)
    try:
        head = [name.strip() for name in next(lines, [])]
        missing = [name for name in columns if name not in head]
        if missing:
            raise Refused(
                f"the first line has no column {missing[0]}", f"It names the columns: {','.join(columns)}."
            )
        rows: list[dict[str, Any]] = []
        for row in lines:
            if not any(cell.strip() for cell in row):
                continue
            if len(row) != len(head):
                raise Refused(
                    f"line {lines.line_num} has {len(row)} cells, but there are {len(head)} columns"
                )
            if len(rows) == MAX_SCHEDULE:
                raise Refused(f"it has more than {MAX_SCHEDULE:,} lines")
            found: dict[str, Any] = {"line": lines.line_num}
            for name in columns:
                cell = row[head.index(name)].strip()
                found[name] = cell if name in texts else _number(cell, name, lines.line_num)
            rows.append(found)
    except csv.Error as error:
        raise Refused(f"line {lines.line_num} is no CSV: {error}") from None
    return rows


def _number(cell: str, name: str, line: int) -> float:
    try:
        found = float(cell)
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise Refused(f'line {line}: {name} is "{cell:.40}", which is no number')
    return found


def shares_in(text: str, origin: str) -> Mapping[str, float]:
    """Return the shares of the destinations of one origin in a table of origins and destinations, in CSV.

    Raises
    ------
    Refused
        If it is no such table, or has nothing for the origin.
    """
    found: dict[str, float] = {}
    rows = read_table(text, ("origin", "destination", "share"), ("origin", "destination"))
    for row in rows:
        if row["share"] < 0.0:
            raise Refused(f"line {row['line']}: share is {row['share']:g}, but must be at least 0")
        if row["origin"] == origin:
            if row["destination"] in found:
                raise Refused(f"line {row['line']}: {origin} and {row['destination']} stand there twice")
            found[row["destination"]] = row["share"]
    if not found:
        names = sorted({row["origin"] for row in rows})
        raise Refused(f'it has no line with the origin "{origin}"', f"Origins are {', '.join(names[:8])}.")
    return found
