"""Where two recordings of equal runs say other things of themselves: in the header, and in the verdict."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crowdsim.recording.difference import Difference, Names
from crowdsim.recording.reader import Recording
from crowdsim.recording.schema import RunState, digest_text

_HEADER = ("name", "seed", "tick_s", "ground", "layers", "groups", "goals", "reproducible", "first_tick")
_CLOCK = ("wall_s", "ms_per_tick", "worst_tick_ms")  # of a verdict


def first_fact(recorded: Recording, fresh: Recording, names: Names, *, scenarios: bool) -> Difference | None:
    """Return the first fact of header or verdict that differs, or None; clock readings, versions and what is recorded how often are no such facts.

    Parameters
    ----------
    recorded, fresh : Recording
        Of runs that are equal in every tick that both have.
    names : tuple of two str
    scenarios : bool
        Compare the texts of the scenarios too, but for their section ``record``.
    """
    facts = [_facts(recording, scenarios) for recording in (recorded, fresh)]
    if recorded.state is RunState.FINISHED and fresh.state is RunState.FINISHED:
        for fact, recording in zip(facts, (recorded, fresh), strict=True):
            result = (recording.verdict or {}).get("result")
            fact.update({f"verdict: {key}": value for key, value in _flat(result if isinstance(result, Mapping) else {}).items()})
    if recorded.commit.last_tick == fresh.commit.last_tick:
        for fact, recording in zip(facts, (recorded, fresh), strict=True):
            fact["run digest"] = digest_text(recording.run_digest)
    for key in facts[0]:
        if key in facts[1] and repr(facts[0][key]) != repr(facts[1][key]):  # of floats every digit
            one, other = _shown(facts[0][key], facts[1][key])
            what = f"the same in every tick, but not in what they say of themselves: {key}: {names[0]} {one}, {names[1]} {other}"
            return Difference(0, "", what, names=names)
    return None


def _facts(recording: Recording, scenarios: bool) -> dict[str, Any]:
    header = recording.header
    found = {f"header: {name}": getattr(header, name) for name in _HEADER}
    found |= {f"header: parameters: {name}": value for name, value in _flat(header.parameters).items()}
    if recording.verdict is not None and "run_digest" in recording.verdict:
        found["run digest in the verdict"] = recording.verdict["run_digest"] == digest_text(recording.run_digest)
    if scenarios:
        found |= {f"scenario: line {number}": line for number, line in enumerate(_without_record(header.scenario), start=1)}
    return found


def _without_record(text: str) -> list[str]:
    """Return the lines of a scenario in canonical text without its last section, which says what is recorded."""
    lines = text.splitlines()
    begin = next((number for number, line in enumerate(lines) if line.startswith("record:")), len(lines))
    return lines[:begin]


def _flat(values: Mapping[str, Any]) -> dict[str, Any]:
    return {str(key): value for key, value in values.items() if key not in _CLOCK}


def _shown(one: Any, other: Any) -> tuple[str, str]:
    """Return two values as text, from a little before where they part, if they are long."""
    texts = repr(one), repr(other)
    at = next((place for place, (a, b) in enumerate(zip(*texts, strict=False)) if a != b), min(map(len, texts)))
    begin = max(0, at - 20)
    first, second = (("..." if begin else "") + text[begin : begin + 60] + ("..." if len(text) > begin + 60 else "") for text in texts)
    return first, second
