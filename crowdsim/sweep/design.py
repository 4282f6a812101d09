"""Which combinations of values a sweep tries:
lists crossed or side by side, samples of ranges, rows of a table.
"""

from __future__ import annotations

import csv
import io
import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from crowdsim.errors import CrowdsimError, needed
from crowdsim.scenario.tree import clipped
from crowdsim.world.random import uniform01

Point = dict[str, str]  # key of the scenario -> value as YAML on one line: what --set takes
# combinations; each is checked before the first runs, which takes some 30 ms of a small scenario
MOST_POINTS = 100_000
MOST_SEEDS = 1_000_000
# Sampled numbers are rounded to so many: the same on every machine, readable in a table, and far finer than
# any range matters.
DIGITS = 9


@dataclass(frozen=True)
class Range:
    """What is sampled for one key.

    Attributes
    ----------
    low, high : float
    whole : bool
        Only whole numbers, each as likely, both ends included.
    logarithmic : bool
        Each decade as likely instead of each unit.
    """

    low: float
    high: float
    whole: bool = False
    logarithmic: bool = False

    def at(self, share: float) -> str:
        """Return the value that lies at a share (0 to 1, without 1) of the range, as text."""
        if self.whole:
            return str(
                int(self.low) + min(int(share * (self.high - self.low + 1.0)), int(self.high - self.low))
            )
        if self.logarithmic:
            value = self.low * math.exp(share * math.log(self.high / self.low))
        else:
            value = self.low + share * (self.high - self.low)
        return repr(float(f"{value:.{DIGITS}g}"))

    def complaint(self) -> str:
        """Return what is wrong with the range, or an empty string."""
        if not (math.isfinite(self.low) and math.isfinite(self.high) and self.low < self.high):
            return f"the range from {self.low:g} to {self.high:g} is empty: low must be below high"
        if self.whole and self.logarithmic:
            return "whole numbers are not drawn by decades: keep whole or the logarithmic scale"
        if self.whole and not (float(self.low).is_integer() and float(self.high).is_integer()):
            return f"whole numbers lie between whole numbers, not between {self.low:g} and {self.high:g}"
        if self.logarithmic and self.low <= 0.0:
            return f"a logarithmic scale needs a range above 0, and this one begins at {self.low:g}"
        return ""


def crossed(values: Mapping[str, Sequence[str]]) -> list[Point]:
    """Return every combination; the last key varies fastest."""
    require_few(math.prod(len(each) for each in values.values()))
    return [
        dict(zip(values, combination, strict=True)) for combination in itertools.product(*values.values())
    ]


def side_by_side(values: Mapping[str, Sequence[str]]) -> list[Point]:
    """Return the first values of all keys, then the second ones, and so on.

    Raises
    ------
    CrowdsimError
        If the lists have different lengths.
    """
    if len({len(each) for each in values.values()}) > 1:
        counts = ", ".join(f"{key} has {len(each)}" for key, each in values.items())
        raise CrowdsimError(f"zip sets values side by side, so all keys need as many: {counts}.")
    return [dict(zip(values, combination, strict=True)) for combination in zip(*values.values(), strict=True)]


def latin_hypercube(ranges: Mapping[str, Range], samples: int, seed: int) -> list[Point]:
    """Return samples of which, for each key, one lies in each of as many equal parts of its range.

    Source: [McKay 1979].
    """
    require_few(samples)
    shares = np.empty((samples, len(ranges)))
    for column in range(len(ranges)):
        # Counter-based draws: a sample does not depend on the version of numpy.
        draws = np.array(
            [[uniform01(seed, 2 * column + part, 0, row) for row in range(samples)] for part in range(2)]
        )
        shares[:, column] = (np.argsort(draws[0], kind="stable") + draws[1]) / samples
    return _sampled(ranges, shares)


def sobol(ranges: Mapping[str, Range], samples: int, seed: int) -> list[Point]:
    """Return the first samples of a scrambled Sobol sequence, a power of two of them.

    Raises
    ------
    CrowdsimError
        If scipy is missing, or the number is no power of two: fewer would be out of balance.
    """
    require_few(samples)
    if samples & (samples - 1):
        below = 1 << (samples.bit_length() - 1)
        raise CrowdsimError(
            f"a Sobol sequence is in balance at powers of two: take {below:,} or {2 * below:,} samples "
            f"instead of {samples:,}."
        )
    qmc = needed(
        "scipy.stats.qmc",
        "Sobol sequences need scipy: pip install 'crowdsim[design]'. A Latin hypercube needs nothing more.",
    )
    try:
        engine = qmc.Sobol(len(ranges), scramble=True, rng=np.random.default_rng(seed))
    except TypeError:  # scipy before 1.15
        engine = qmc.Sobol(len(ranges), scramble=True, seed=seed)
    return _sampled(ranges, engine.random(samples))


def _sampled(ranges: Mapping[str, Range], shares: NDArray[np.float64]) -> list[Point]:
    return [
        {key: each.at(float(share)) for (key, each), share in zip(ranges.items(), row, strict=True)}
        for row in shares
    ]


def table_rows(text: str, name: str) -> list[Point]:
    """Return one combination for each row of a CSV table whose columns are keys;
    an empty cell leaves the scenario's own value.

    Raises
    ------
    CrowdsimError
        If a row has more or fewer cells than the head, or a column has no name, or a name stands twice.
    """
    rows = [row for row in csv.reader(io.StringIO(text)) if any(cell.strip() for cell in row)]
    if len(rows) < 2:
        raise CrowdsimError(
            f"{name}: a design is a row of keys and below it at least one row of values; here there are "
            f"{len(rows)} rows."
        )
    keys = [key.strip() for key in rows[0]]
    if not all(keys) or len(set(keys)) < len(keys):
        raise CrowdsimError(f"{name}: the first row names each key once, and here it is {', '.join(keys)}.")
    require_few(len(rows) - 1)
    for number, row in enumerate(rows[1:], 1):
        if len(row) != len(keys):
            raise CrowdsimError(
                f"{name}: row {number} of values has {len(row)} cells, but there are {len(keys)} keys."
            )
    return [
        {key: cell.strip() for key, cell in zip(keys, row, strict=True) if cell.strip()} for row in rows[1:]
    ]


def multiplied(parts: Sequence[Sequence[Point]]) -> list[Point]:
    """Return each combination of one part with each of the others; the last part varies fastest.

    Raises
    ------
    CrowdsimError
        If two parts vary one key, or there would be too many.
    """
    owners: dict[str, int] = {}
    for number, part in enumerate(parts):
        for key in dict.fromkeys(key for point in part for key in point):
            if owners.setdefault(key, number) != number:
                raise CrowdsimError(f'"{clipped(key)}" is varied twice. Keep one of the two.')
    require_few(math.prod(len(part) for part in parts))
    return [
        {key: value for point in combination for key, value in point.items()}
        for combination in itertools.product(*parts)
    ]


def require_few(count: int) -> None:
    """Raise `CrowdsimError` if a design has more combinations than can be checked."""
    if not 1 <= count <= MOST_POINTS:
        raise CrowdsimError(f"the design has {count:,} combinations, but must have 1 to {MOST_POINTS:,}.")


def varied(option: str) -> tuple[str, list[str]]:
    """Return the key and the values of ``key=value,value,...``;
    commas in brackets, braces and quotes belong to a value.

    Raises
    ------
    CrowdsimError
        If it has another form, or a value is empty.
    """
    key, equals, text = option.partition("=")
    values = [value.strip() for value in _split(text)]
    if not equals or not key.strip() or not all(values):
        raise CrowdsimError(
            f"--vary {clipped(option)}: expects key=value,value,... For example --vary "
            "groups.0.count=100,200,400."
        )
    return key.strip(), values


def _split(text: str) -> list[str]:
    parts, depth, quote = [""], 0, ""
    for character in text:
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character in "[{(":
            depth += 1
        elif character in "]})":
            depth -= 1
        elif character == "," and depth <= 0:
            parts.append("")
            continue
        parts[-1] += character
    return parts


def varied_values(options: Iterable[str]) -> dict[str, list[str]]:
    """Return the values of all ``--vary`` options by key.

    Raises
    ------
    CrowdsimError
        If one has another form, or a key stands twice.
    """
    found: dict[str, list[str]] = {}
    for option in options:
        key, values = varied(option)
        if key in found:
            raise CrowdsimError(
                f"--vary {clipped(key)} is given twice. Put all values into one: --vary "
                f"{clipped(key)}={','.join(found[key] + values)}."
            )
        found[key] = values
    return found


_SEED_PART = re.compile(r"(\d+)(?::(\d+)(?::(\d+))?)?\Z")


def seeds_of(text: str) -> list[int]:
    """Return the seeds of ``0:10`` (0 to 9), ``0:100:10`` (every tenth), ``1,5,7``,
    or these joined by commas; each once.

    Raises
    ------
    CrowdsimError
        If the text has another form or means no seed, or far too many.
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        match = _SEED_PART.match(part.strip())
        start, stop, step = (int(each) if each else 0 for each in match.groups()) if match else (0, 0, 0)
        if (
            match is None
            or (match[2] is not None and stop <= start)
            or (match[3] is not None and step == 0)
            or (stop - start) // (step or 1) > MOST_SEEDS
        ):
            form = f"whole numbers like 1,5,7, or ranges like 0:10, which is 0 to 9 (at most {MOST_SEEDS:,})"
            raise CrowdsimError(f'seeds are {form}, and not "{clipped(text)}".')
        found |= dict.fromkeys(range(start, stop if match[2] is not None else start + 1, step or 1))
    return list(found)
