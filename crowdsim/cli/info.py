"""`crowdsim info`: what a recording holds, on one screen."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdsim.cli.shell import table, tell
from crowdsim.cli.verdict import aligned, is_verdict, left_text, result_of, verdict_rows
from crowdsim.printable import visible

if TYPE_CHECKING:
    from crowdsim.recording.reader import Recording

CALLS_SHOWN = 12  # of those by which programs change runs; there are hardly more


def info(
    path: Annotated[Path, typer.Argument(help="A recording: finished, being written, or cut off.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")] = False,
) -> None:
    """Show what a recording holds: scenario, seed, length, verdict, digest, sizes and versions."""
    from crowdsim.recording.opening import open_run

    with open_run(path) as recording:
        facts = describe(recording)
    tell(facts, json, lambda: as_text(facts))


def describe(recording: Recording) -> dict[str, Any]:
    """Return everything that `info` shows, as plain values; sizes in bytes, times in seconds.

    Parameters
    ----------
    recording : Recording
    """
    from crowdsim.recording.leftovers import look_at
    from crowdsim.simulation.going_on import runs_of

    header, commit = recording.header, recording.commit
    sizes = {
        name: {
            "rows": rows,
            "bytes": stored,
            "bytes_before_compression": raw,
            "ratio": round(raw / max(stored, 1), 2),
        }
        for name, (rows, raw, stored) in recording.sizes().items()
    }
    status = recording.path.stat()
    left = look_at(recording.path)
    return {
        "path": str(recording.path),
        "state": recording.state.name.lower(),
        "is_whole": recording.is_whole,
        "writer": left.writer,
        "steps": [
            {"what": what, "command": how} for run in runs_of(recording.path) for what, how in run.steps()
        ],
        "seconds_since_last_commit": None
        if recording.is_whole
        else round(max(0.0, time.time() - commit.clock_ns / 1e9), 1),
        "scenario": header.name,
        "seed": header.seed,
        "run_id": header.run_id,
        "started": header.started,
        "ticks": commit.ticks,
        "last_tick": commit.last_tick,
        "tick_s": header.tick_s,
        "simulated_s": round(commit.last_tick * header.tick_s, 6),
        "first_frame_s": round(int(recording.table("frames/tick", 0, 1)[0]) * header.tick_s, 6)
        if commit.frames
        else None,
        "frames": commit.frames,
        "fps": recording.fps,
        "agents": commit.agents,
        "rows": commit.rows,
        "events": commit.events,
        "interventions": dict(Counter(each.call for each in recording.interventions()).most_common()),
        "verdict": recording.verdict,
        "run_digest": f"{recording.run_digest:016x}",
        "cut": dict(header.cut) or None,
        "reproducible": header.reproducible,
        "exact": header.exact,
        "traced": recording.layout.trace,
        "file_bytes": status.st_size,
        "bytes_per_agent_and_frame": round(status.st_size / commit.rows, 1) if commit.rows else None,
        "datasets": sizes,
        "threads": header.threads,
        "cpu": header.cpu,
        "versions": dict(header.versions),
    }


def as_text(facts: dict[str, Any]) -> str:
    """Return the facts as a person reads them.

    Parameters
    ----------
    facts : dict
        From `describe`.
    """
    result = result_of(facts["verdict"])
    knows = is_verdict(result)
    marks = [
        word
        for word, is_so in (
            ("exact", facts["exact"]),
            ("traced", facts["traced"]),
            ("not reproducible", not facts["reproducible"]),
        )
        if is_so
    ]
    each = (
        f", {facts['bytes_per_agent_and_frame']:g} bytes for an agent in a frame"
        if facts["bytes_per_agent_and_frame"]
        else ""
    )
    rows = [
        (
            "scenario",
            f"{facts['scenario']}, seed {facts['seed']}, run {facts['run_id']}, started {facts['started']}",
        ),
        (
            "length",
            f"{_time(facts)}, {facts['frames']:,} frames, {facts['fps']:g} a second",
        ),
        ("agents", f"{facts['agents']:,}; {facts['rows']:,} rows, {facts['events']:,} events"),
        *_by_a_program(facts["interventions"]),
        *(verdict_rows(result, facts["tick_s"]) if knows else _plain_verdict(result)),
        *_cut_out_of(facts["cut"] or {}),
        *(
            [("digest", facts["run_digest"] + (f" ({', '.join(marks)})" if marks else ""))]
            if not facts["cut"]
            else []
        ),
        ("size", f"{facts['file_bytes'] / 1e6:,.2f} MB{each}"),
        ("made with", ", ".join(f"{name} {version}" for name, version in facts["versions"].items())),
        ("on", f"{facts['cpu']}, {facts['threads']} thread{'s' if facts['threads'] != 1 else ''}"),
    ]
    datasets = [
        (
            name,
            f"{size['rows']:,}",
            f"{size['bytes'] / 1e6:,.3f}" if size["bytes"] >= 1000 else "<0.001",
            f"{size['ratio']:.1f}",
        )
        for name, size in facts["datasets"].items()
    ]
    text = (
        f"{facts['path']}: {_state_in_words(facts)}\n{aligned(rows)}\n\n"
        f"{table(('dataset', 'rows', 'MB', 'ratio'), datasets, right=(1, 2, 3))}"
    )
    text += left_text(result) if knows else ""
    return text + "".join(f"\n{each['what']}: {each['command']}" for each in facts["steps"])


def _time(facts: Mapping[str, Any]) -> str:
    if facts["cut"]:
        return f"from {facts['first_frame_s'] or 0:g} s until {facts['simulated_s']:g} s"
    return f"{max(facts['last_tick'], 0):,} ticks of {facts['tick_s']:g} s: {facts['simulated_s']:g} s"


def _by_a_program(calls: Mapping[str, int]) -> list[tuple[str, str]]:
    """Return how often a program has changed the run, by the names of the calls."""
    named = [f"{call} {count:,}" for call, count in [*calls.items()][:CALLS_SHOWN]]
    named += [f"{len(calls) - CALLS_SHOWN:,} others"] if len(calls) > CALLS_SHOWN else []
    total = sum(calls.values())
    words = f"{total:,} call{'s' if total != 1 else ''}: {', '.join(named)}"
    return [("interventions", words)] if calls else []


def _cut_out_of(cut: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return of which recording it is a part, within which bounds; a line for each cut, the last first."""
    rows = []
    while cut and isinstance(cut, Mapping):
        times = {name: cut.get(f"{name}_s") for name in ("from", "until")}
        lists = {name: cut.get(name) for name in ("groups", "floors")}
        bounds = [
            *(f"{name} {value:g} s" for name, value in times.items() if isinstance(value, (int, float))),
            *([f"region {cut['region']}"] if cut.get("region") else []),
            *(
                f"{name} {', '.join(map(str, value))}"
                for name, value in lists.items()
                if value and isinstance(value, list)
            ),
        ]
        run = f"run {cut.get('run_id')}, digest {cut.get('run_digest') or 'not recorded'}"
        words = f"{cut.get('source')} ({run}): {'; '.join(bounds) or 'all of it'}"
        rows.append(("cut out of", visible(words)))
        cut = cut.get("of") or {}
    return rows


def _plain_verdict(result: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the plain values of a verdict that another program wrote; tables in it are for programs."""
    words = [
        f"{key} {f'{value:.6g}' if isinstance(value, float) else value}"
        for key, value in result.items()
        if isinstance(value, (str, int, float)) and value != ""
    ]
    return [("verdict", ", ".join(words))] if words else []


def _state_in_words(facts: dict[str, Any]) -> str:
    reason = visible(str((facts["verdict"] or {}).get("reason", "")))
    if facts["is_whole"]:
        return facts["state"] + (f" ({reason})" if reason else "")
    if facts["writer"]:
        return (
            f"being written by {facts['writer']}: the last commit was "
            f"{facts['seconds_since_last_commit']:g} s ago"
        )
    if facts["state"] != "running":
        return f"{facts['state']}, but its writer was stopped before the file was closed and had its name"
    return (
        f"cut off: its writer was stopped; the last commit was {facts['seconds_since_last_commit']:g} s ago"
    )
