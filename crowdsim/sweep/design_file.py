"""A sweep as a file: a scenario, the values that all runs have, seeds,
and designs whose combinations are multiplied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from crowdsim.errors import CrowdsimError, Problem, ScenarioError
from crowdsim.scenario.canonical import flow_text
from crowdsim.scenario.files import FileAccess, FileRefused, read_text
from crowdsim.scenario.schema_geometry import is_number
from crowdsim.scenario.tree import (
    UNUSABLE,
    Node,
    Place,
    Problems,
    described,
    is_usable,
    listed,
    plain,
    suggestion,
)
from crowdsim.scenario.yaml_reader import read_yaml
from crowdsim.sweep.design import (
    Point,
    Range,
    crossed,
    latin_hypercube,
    seeds_of,
    side_by_side,
    sobol,
    table_rows,
)

KEYS = ("scenario", "name", "set", "seeds", "grid", "zip", "latin_hypercube", "sobol", "csv")
_SAMPLED = ("samples", "seed", "ranges")
_RANGE = ("low", "high", "whole", "scale")


@dataclass(frozen=True)
class Design:
    """What a sweep file says.

    Attributes
    ----------
    scenario : Path
    name : str
    sets : tuple of str
    seeds : tuple of int
    parts : tuple of list of Point
        One for each design in the file, in its order.
    """

    scenario: Path
    name: str
    sets: tuple[str, ...]
    seeds: tuple[int, ...]
    parts: tuple[list[Point], ...]


def is_design_file(path: Path) -> bool:
    """Return whether a YAML file is a sweep and not a scenario: it names a scenario."""
    try:
        root, _ = read_yaml(read_text(path), str(path))
    except (FileRefused, ScenarioError):
        return False
    return root is not None and isinstance(root.value, dict) and "scenario" in root.value


def read_design(path: Path) -> Design:
    """Read a sweep file.

    Parameters
    ----------
    path : Path

    Returns
    -------
    Design

    Raises
    ------
    ScenarioError
        With all mistakes, each with its line.
    CrowdsimError
        If Sobol samples are asked for and scipy is missing.
    """
    try:
        root, found = read_yaml(read_text(path), str(path))
    except FileRefused as refused:
        raise ScenarioError(Problem("", str(refused), refused.way_out, str(path))) from None
    root = root if root is not None else Node({}, Place(str(path)), {})
    problems = Problems(root)
    problems.found.extend(found)
    if not isinstance(root.value, dict):
        problems.add(
            (), f"expects a mapping, found {described(root.value)}", f"Known keys are {listed(KEYS)}."
        )
        raise ScenarioError(problems.sorted())
    reader = _Reader(path, problems)
    reader.refuse_unknown((), root, KEYS)
    parts = [
        part
        for key in root.value
        if key in reader.designs
        if (part := reader.designs[key](key, root.value[key])) is not None
    ]
    design = Design(
        scenario=reader.scenario(root.value.get("scenario")),
        name=reader.text("name", root.value.get("name")) or path.stem,
        sets=tuple(f"{key}={value}" for key, value in reader.values(("set",), root.value.get("set")).items()),
        seeds=tuple(reader.seeds(root.value.get("seeds"))),
        parts=tuple(parts),
    )
    if problems.found:
        raise ScenarioError(problems.sorted())
    return design


class _Reader:
    """Reads the parts of a sweep file; what is wrong is added to the problems."""

    def __init__(self, path: Path, problems: Problems) -> None:
        self._path = path
        self._problems = problems
        self.designs: Mapping[str, Callable[[str, Node], list[Point] | None]] = {
            "grid": lambda key, node: self._lists(key, node, crossed),
            "zip": lambda key, node: self._lists(key, node, side_by_side),
            "latin_hypercube": lambda key, node: self._samples(key, node, latin_hypercube),
            "sobol": lambda key, node: self._samples(key, node, sobol),
            "csv": self._table,
        }

    def refuse_unknown(self, above: tuple[str, ...], node: Node, known: tuple[str, ...]) -> None:
        """Add a problem for each key of a mapping that means nothing."""
        for key in node.value:
            if key not in known:
                self._problems.add(
                    (*above, key),
                    f'there is no key "{key}" here',
                    f"{suggestion(key, known)} Known are {listed(known)}.".strip(),
                    key=True,
                )

    def scenario(self, node: Node | None) -> Path:
        """Return the path of the scenario, which is relative to the sweep file."""
        if node is None:
            self._problems.add(
                (),
                'the key "scenario" is missing',
                "For example scenario: ../bottleneck.yaml, relative to this file.",
            )
        return self._path.parent / self.text("scenario", node)

    def text(self, key: str, node: Node | None) -> str:
        """Return a text; empty where there is none."""
        if node is not None and not isinstance(node.value, str):
            self._problems.add((key,), f"expects a text, found {described(node.value)}")
        return node.value if node is not None and isinstance(node.value, str) else ""

    def values(self, above: tuple[str, ...], node: Node | None) -> dict[str, str]:
        """Return a mapping of keys to single values, the values as YAML."""
        mapping = self._mapping(above, node) if node is not None else {}
        return {key: _yaml(item) for key, item in mapping.items()}

    def seeds(self, node: Node | None) -> list[int]:
        """Return the seeds of a text like 0:10, a number, or a list of numbers."""
        if node is None:
            return []
        items = node.value if isinstance(node.value, list) else [node]
        # 0:10 without quotes, which the reader of YAML has reported
        if any(item.value is UNUSABLE for item in items):
            return []
        try:
            return seeds_of(",".join(str(item.value) for item in items))
        except CrowdsimError as error:
            self._problems.add(("seeds",), str(error))
            return []

    def _mapping(self, above: tuple[str, ...], node: Node) -> dict[str, Node]:
        if isinstance(node.value, dict) and node.value:
            return node.value
        self._problems.add(
            above,
            f"expects a mapping of keys, found {described(node.value)}",
            "For example groups.0.count: [100, 200].",
        )
        return {}

    def _lists(
        self, key: str, node: Node, combine: Callable[[dict[str, list[str]]], list[Point]]
    ) -> list[Point] | None:
        values: dict[str, list[str]] = {}
        for name, item in self._mapping((key,), node).items():
            if isinstance(item.value, list) and item.value:
                values[name] = [_yaml(each) for each in item.value]
            else:
                self._problems.add(
                    (key, name),
                    f"expects a list of values, found {described(item.value)}",
                    f"For example {name}: [{_yaml(item) or 1}].",
                )
        return self._combined(key, lambda: combine(values)) if values else None

    def _samples(
        self, key: str, node: Node, sample: Callable[[dict[str, Range], int, int], list[Point]]
    ) -> list[Point] | None:
        mapping = self._mapping((key,), node)
        if not mapping:
            return None
        self.refuse_unknown((key,), node, _SAMPLED)
        samples, seed = (
            self._whole(key, "samples", mapping.get("samples"), None),
            self._whole(key, "seed", mapping.get("seed"), 0),
        )
        given = mapping.get("ranges")
        if given is None:
            self._problems.add(
                (key,), 'the key "ranges" is missing', "For example ranges: {avoidance.time_horizon: [1, 5]}."
            )
            return None
        ranges = {
            name: self._range(key, name, item) for name, item in self._mapping((key, "ranges"), given).items()
        }
        known = {name: each for name, each in ranges.items() if each is not None}
        if samples is None or seed is None or not known or len(known) < len(ranges):
            return None
        return self._combined(key, lambda: sample(known, samples, seed))

    def _range(self, key: str, name: str, node: Node) -> Range | None:
        form = (
            "A range is [low, high], or {low: 1, high: 100, scale: log}, or {low: 1, high: 9, whole: true}; "
            "a list of words belongs under grid."
        )
        value: Any = node.value
        if isinstance(value, list) and len(value) == 2:
            value = {"low": value[0], "high": value[1]}
        elif isinstance(value, dict):
            self.refuse_unknown((key, "ranges", name), node, _RANGE)
        given = {part: item.value for part, item in value.items()} if isinstance(value, dict) else {}
        low, high, scale, whole = (
            given.get("low"),
            given.get("high"),
            given.get("scale", "linear"),
            given.get("whole", False),
        )
        if (
            not (is_number(low) and is_number(high))
            or scale not in ("linear", "log")
            or not isinstance(whole, bool)
        ):
            self._problems.add((key, "ranges", name), f"expects a range, found {described(node.value)}", form)
            return None
        found = Range(low, high, whole=whole, logarithmic=scale == "log")
        if complaint := found.complaint():
            self._problems.add((key, "ranges", name), complaint, form)
            return None
        return found

    def _whole(self, key: str, name: str, node: Node | None, default: int | None) -> int | None:
        if node is None and default is not None:
            return default
        if node is None or isinstance(node.value, bool) or not isinstance(node.value, int) or node.value < 0:
            self._problems.add(
                (key, name),
                f"expects a whole number, found {described(node.value if node is not None else None)}",
                f"For example {name}: 64.",
            )
            return None
        return node.value

    def _table(self, key: str, node: Node) -> list[Point] | None:
        name = self.text(key, node)
        if not name:
            return None
        try:
            text = FileAccess(self._path.parent).read(name)
        except FileRefused as refused:
            self._problems.add(
                (key,), f"{name}: {refused}", "The table lies in the folder of the sweep file, or below it."
            )
            return None
        return self._combined(key, lambda: table_rows(text, name))

    def _combined(self, key: str, make: Callable[[], list[Point]]) -> list[Point] | None:
        try:
            return make()
        except CrowdsimError as error:
            self._problems.add((key,), str(error))
            return None


def _yaml(node: Node) -> str:
    """Return a value as YAML on one line, as --set takes it; nothing of one that has been reported."""
    return flow_text(plain(node)) if is_usable(node) else ""
