"""Lines in which agents stand until they are served."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import Any

import shapely

from crowdsim.scenario import schema_behaviours as schema
from crowdsim.scenario.distributions import Distribution, complaint, distribution_from
from crowdsim.scenario.geometry import FloorNames
from crowdsim.scenario.tree import Path, Problems, listed, suggestion

Line = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class Queue:
    """A line, or several, in front of those that serve.

    Attributes
    ----------
    name : str
    servers : tuple of (x, y), m
        Where an agent stands while it is served, by each.
    lines : tuple of tuple of (x, y), m
        From the head to the tail: one for all servers, or one for each.
    service : Distribution, s
    join : str
        ``shortest`` or ``random``: which line an agent goes to, if there are several.
    spacing : float, m
        Between the middles of those that stand one behind the other.
    first : tuple of str
        Groups whose agents go to the head of the line, behind others of these.
    layer : int
        Number of the floor; -1 where there is one level floor.
    """

    name: str
    servers: tuple[tuple[float, float], ...]
    lines: tuple[Line, ...]
    service: Distribution
    join: str
    spacing: float
    first: tuple[str, ...] = ()
    layer: int = -1

    @property
    def serves(self) -> tuple[tuple[int, ...], ...]:
        """Which servers, by number, take the first one of each line."""
        if len(self.lines) == 1:
            return (tuple(range(len(self.servers))),)
        return tuple((number,) for number in range(len(self.servers)))

    def data(self) -> dict[str, Any]:
        """Return it as a scenario says it, without the storey."""
        points = [[list(point) for point in line] for line in self.lines]
        return {
            "servers": [list(point) for point in self.servers],
            **({"line": points[0]} if len(points) == 1 else {"lines": points}),
            "service": self.service.data(),
            "join": self.join,
            "spacing": self.spacing,
            "first": list(self.first),
        }


def resolve_queues(
    shapes: dict[str, schema.QueueShape], groups: list[str], floors: FloorNames, problems: Problems
) -> tuple[Queue, ...]:
    """Return the queues of a scenario, ascending by name; add a problem for each that cannot be."""
    found = []
    for name in sorted(shapes):
        shape, path = shapes[name], ("queues", name)
        queue = _resolved(name, shape, path, floors, problems)
        for index, group in enumerate(shape.first):
            if group not in groups:
                problems.add(
                    (*path, "first", index),
                    f'there is no group "{group}"',
                    f"{suggestion(group, groups)} Known are {listed(groups)}.".strip(),
                )
        found += [queue] if queue is not None else []
    return tuple(found)


def _resolved(
    name: str, shape: schema.QueueShape, path: Path, floors: FloorNames, problems: Problems
) -> Queue | None:
    if (shape.line is None) == (shape.lines is None):
        problems.add(
            path, "line or lines: one of both says where agents stand", "Give one line, or one a server."
        )
        return None
    lines = [shape.line] if shape.line is not None else shape.lines or []
    if shape.lines is not None and len(lines) != len(shape.servers):
        problems.add(
            (*path, "lines"),
            f"{len(lines)} lines for {len(shape.servers)} servers",
            "Give one for each server, in their order, or one line for all.",
        )
        return None
    for index, line in enumerate(lines):
        at: Path = (*path, "line") if shape.line is not None else (*path, "lines", index)
        length = sum(math.dist(a, b) for a, b in itertools.pairwise(line))
        if length < shape.spacing:
            problems.add(
                at,
                f"is {length:g} m long, but those in it stand {shape.spacing:g} m apart",
                "Make it longer, or spacing smaller.",
            )
            return None
    service = distribution_from(shape.service)
    wrong = complaint(shape.service, service, least=0.0, most=1e9, unit="s", positive=False)
    if wrong is not None:
        problems.add((*path, "service"), *wrong)
        return None
    spots = [_pair(point) for point in shape.servers]
    return Queue(
        name,
        tuple(spots),
        tuple(tuple(_pair(point) for point in line) for line in lines),
        service,
        shape.join,
        float(shape.spacing),
        tuple(shape.first),
        floors.layer(shape, path, shapely.Point(spots[0])),
    )


def _pair(point: list[float]) -> tuple[float, float]:
    return float(point[0]) + 0.0, float(point[1]) + 0.0
