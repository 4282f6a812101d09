"""The verdict as a person reads it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from crowdsim.cli.shell import table

if TYPE_CHECKING:
    from crowdsim.schedule.verdict import Verdict

SLOWEST_SHOWN = 4


def verdict_text(verdict: Verdict, tick_s: float, recording: Path | None) -> str:
    """Return the verdict of a run as a few aligned lines.

    Parameters
    ----------
    verdict : Verdict
    tick_s : float, s
        Length of a tick.
    recording : Path or None
        Where the recording is.
    """
    rows = [("ended", f"{verdict.ended} at {verdict.simulated_s:g} s ({verdict.ticks:,} ticks of {tick_s:g} s)")]
    last = f", the last at {verdict.last_arrival_s:g} s" if verdict.last_arrival_s is not None else ""
    rows.append(("arrived", f"{verdict.arrived:,} of {verdict.agents - verdict.standing + _standing_arrivals(verdict):,}{last}"))
    if verdict.arrivals:
        rows.append(("  by goal", ", ".join(f"{name} {count:,}" for name, count in verdict.arrivals.items())))
    if verdict.not_arrived:
        rows.append(("not arrived", ", ".join(f"{count:,} {reason}" for reason, count in verdict.reasons.items())))
    if verdict.standing:
        rows.append(("standing", f"{verdict.standing:,} without a further goal"))
    overlap = f"deepest {100 * verdict.deepest_overlap_m:.1f} cm" if verdict.deepest_overlap_m else "none"
    rows.append(("overlaps", overlap))
    if verdict.symmetries_broken:
        rows.append(("symmetry", f"broken {verdict.symmetries_broken:,} times"))
    if verdict.strays:
        rows.append(("pushed away", f"{verdict.strays:,} times so far off the way that a new path was asked for"))
    rows.append(("paths", f"{verdict.expansions:,} expansions, longest wait {verdict.longest_wait_s:g} s"))
    slowest = list(verdict.ms_per_tick.items())[:SLOWEST_SHOWN]
    rows.append(("time", f"{verdict.wall_s:.2f} s, {_factor(verdict)} x real time; worst tick {verdict.worst_tick_ms:.1f} ms"))
    rows.append(("  slowest", ", ".join(f"{name} {ms:.2f} ms" for name, ms in slowest) + " a tick"))
    rows.append(("digest", verdict.digest))
    rows.append(("recording", str(recording) if recording is not None else "none"))
    width = max(len(name) for name, _ in rows)
    text = "\n".join(f"{name.ljust(width)}  {value}" for name, value in rows)
    if verdict.left:
        shown = [(left.agent, f"({left.x:.2f}, {left.y:.2f})", left.reason, f"{left.stuck_for_s:g} s" if left.stuck_for_s else "") for left in verdict.left]
        more = verdict.not_arrived - len(verdict.left)
        text += "\n\n" + table(("agent", "place (m)", "reason", "stuck for"), shown) + (f"\nand {more:,} more" if more > 0 else "")
    from crowdsim.schedule.verdict import LONG_WAIT_S

    if verdict.longest_wait_s > LONG_WAIT_S:
        text += f"\n\nwarning: a path request was open for {verdict.longest_wait_s:g} s; a larger budget (budget: {{work: ...}}) answers sooner"
    return f"{verdict.scenario}: {'everybody arrived' if not verdict.not_arrived else f'{verdict.not_arrived:,} did not arrive'}\n" + text


def _standing_arrivals(verdict: Verdict) -> int:
    """Return how many of the standing have arrived somewhere: they are counted among the arrived too."""
    return max(0, verdict.arrived + verdict.not_arrived + verdict.standing - verdict.agents)


def _factor(verdict: Verdict) -> str:
    return f"{verdict.simulated_s / verdict.wall_s:.1f}" if verdict.wall_s > 0.0 else "-"
