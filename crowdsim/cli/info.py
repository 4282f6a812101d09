"""`crowdsim info`: what a recording holds, on one screen."""

from __future__ import annotations

import json as json_format
import textwrap
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from crowdsim.errors import ExitCode

if TYPE_CHECKING:
    from crowdsim.recording.reader import Recording


def info(
    path: Annotated[Path, typer.Argument(help="A recording: finished, being written, or cut off.")],
    json: Annotated[bool, typer.Option("--json", help="Print one JSON object for programs.")] = False,
) -> int:
    """Show what a recording holds: scenario, seed, length, verdict, digest, sizes and versions."""
    from crowdsim.recording.reader import open_run

    with open_run(path) as recording:
        facts = describe(recording)
    typer.echo(json_format.dumps(facts, indent=2, ensure_ascii=False) if json else as_text(facts))
    return ExitCode.OK


def describe(recording: Recording) -> dict[str, Any]:
    """Return everything that `info` shows, as plain values; sizes in bytes, times in seconds.

    Parameters
    ----------
    recording : Recording
    """
    header, commit = recording.header, recording.commit
    sizes = {
        name: {"rows": rows, "bytes": stored, "bytes_before_compression": raw, "ratio": round(raw / max(stored, 1), 2)}
        for name, (rows, raw, stored) in recording.sizes().items()
    }
    status = recording.path.stat()
    return {
        "path": str(recording.path),
        "state": recording.state.name.lower(),
        "is_whole": recording.is_whole,
        "seconds_since_last_commit": None if recording.is_whole else round(max(0.0, time.time() - commit.clock_ns / 1e9), 1),
        "scenario": header.name,
        "seed": header.seed,
        "run_id": header.run_id,
        "started": header.started,
        "ticks": commit.ticks,
        "last_tick": commit.last_tick,
        "tick_s": header.tick_s,
        "simulated_s": round(commit.last_tick * header.tick_s, 6),
        "frames": commit.frames,
        "fps": recording.fps,
        "agents": commit.agents,
        "rows": commit.rows,
        "events": commit.events,
        "verdict": recording.verdict,
        "run_digest": f"{recording.run_digest:016x}",
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
    verdict = facts["verdict"] or {}
    lines = [
        f"{facts['path']}: {_state_in_words(facts)}",
        f"scenario   {facts['scenario']}, seed {facts['seed']}, run {facts['run_id']}, started {facts['started']}",
        f"length     {max(facts['last_tick'], 0)} ticks of {facts['tick_s']:g} s: {facts['simulated_s']:g} s, "
        f"{facts['frames']} frames, {facts['fps']:g} a second",
        f"agents     {facts['agents']}; {facts['rows']:,} rows, {facts['events']:,} events",
    ]
    lines += _verdict_lines(verdict.get("result") or {})
    marks = [word for word, is_so in (("exact", facts["exact"]), ("traced", facts["traced"]), ("not reproducible", not facts["reproducible"])) if is_so]
    lines.append(f"digest     {facts['run_digest']}" + (f" ({', '.join(marks)})" if marks else ""))
    each = f", {facts['bytes_per_agent_and_frame']:g} bytes for an agent in a frame" if facts["bytes_per_agent_and_frame"] else ""
    lines.append(f"size       {facts['file_bytes'] / 1e6:,.2f} MB{each}")
    lines.append(f"  {'dataset':28s}{'rows':>12s}{'MB':>10s}{'ratio':>8s}")
    for name, size in facts["datasets"].items():
        lines.append(f"  {name:28s}{size['rows']:12,d}{size['bytes'] / 1e6:10.3f}{size['ratio']:8.1f}")
    lines.append(f"made with  {', '.join(f'{name} {version}' for name, version in facts['versions'].items())}")
    lines.append(f"on         {facts['cpu']}, {facts['threads']} thread{'s' if facts['threads'] != 1 else ''}")
    return "\n".join(lines)


def _verdict_lines(result: dict[str, Any]) -> list[str]:
    """Return the plain values of a verdict in lines of a screen; tables in it are for programs."""
    words = []
    for key, value in result.items():
        if isinstance(value, (str, int, float)) and value != "":
            words.append(f"{key} {f'{value:.6g}' if isinstance(value, float) else value}")
    return textwrap.wrap(", ".join(words), width=110, initial_indent="verdict    ", subsequent_indent="           ")


def _state_in_words(facts: dict[str, Any]) -> str:
    reason = (facts["verdict"] or {}).get("reason", "")
    if facts["is_whole"]:
        return facts["state"] + (f" ({reason})" if reason else "")
    if facts["state"] != "running":
        return f"{facts['state']}, but its writer was stopped before it closed the file. `crowdsim recover` makes a whole file of it"
    return f"being written, or cut off: the last commit was {facts['seconds_since_last_commit']:g} s ago. `crowdsim recover` makes a whole file of it"
