"""The verdict as a person reads it: after a run, and when a recording is looked at.
Made of plain values, so that `info` needs no compiler.
"""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from crowdsim.cli.shell import table, terminal_width
from crowdsim.printable import visible

SLOWEST_SHOWN = 4
MOST_GOALS = 8  # Goals whose arrivals are listed; --json has them all.
# A path request that is open longer than this gets a warning: an observer would notice an agent that stands
# so long.
LONG_WAIT_S = 2.0
_NUMBERS = {
    "agents", "arrived", "standing", "not_arrived", "simulated_s", "wall_s", "ticks", "deepest_overlap_m",
    "symmetries_broken", "strays", "expansions", "longest_wait_s", "worst_tick_ms",
}  # fmt: skip
_OF_ARRIVALS = ("came", "waiting_outside", "longest_outside_s", "choice_changes")
Rows = Sequence[tuple[str, str]]


def result_of(verdict: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """Return what a recording's verdict says that the run resulted in;
    empty if it says nothing that could be shown.
    """
    result = (verdict or {}).get("result")
    return result if isinstance(result, Mapping) else {}


def is_verdict(result: Mapping[str, Any]) -> bool:
    """Return whether plain values, perhaps from a stranger's file, are the verdict of a run."""
    tables = all(
        _is_table(result.get(name), kind)
        for name, kind in (("arrivals", int), ("reasons", int), ("ms_per_tick", (int, float)))
    )
    left = result.get("left")
    return (
        tables
        and all(isinstance(result.get(name), (int, float)) for name in _NUMBERS)
        and all(isinstance(result.get(name), str) for name in ("scenario", "ended", "digest"))
        and isinstance(result.get("last_arrival_s"), (int, float, type(None)))
        and isinstance(left, (list, tuple))
        and all(isinstance(each, Mapping) and _is_left(each) for each in left)
        and isinstance(result.get("nudges", 0), (int, float))
        and all(isinstance(result.get(name, 0), (int, float)) for name in _OF_ARRIVALS)
        and isinstance(result.get("most_requests_open", 0), (int, float))
        and _is_table(result.get("replans", {}), int)
        and _is_table(result.get("deadlocked", {}), int)
        and isinstance(result.get("speed_law", ""), str)
        and isinstance(result.get("flows", []), (list, tuple))
        and all(isinstance(each, Mapping) and _is_flow(each) for each in result.get("flows", []))
    )


def _is_left(left: Mapping[str, Any]) -> bool:
    return (
        all(isinstance(left.get(name), (int, float)) for name in ("x", "y", "stuck_for_s"))
        and {"agent", "reason"} <= left.keys()
    )


def _is_flow(flow: Mapping[str, Any]) -> bool:
    return isinstance(flow.get("exit"), str) and all(
        isinstance(flow.get(name), (int, float)) for name in ("people", "width_m", "per_m_s")
    )


def _is_table(value: Any, kind: Any) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(key, str) and isinstance(number, kind) for key, number in value.items()
    )


def verdict_text(result: Mapping[str, Any], tick_s: float, recording: Path | None) -> str:
    """Return the verdict of a run as a few aligned lines.

    Parameters
    ----------
    result : mapping
        From `Verdict.as_dict`.
    tick_s : float, s
        Length of a tick.
    recording : Path or None
        Where the recording is.
    """
    rows = [
        *verdict_rows(result, tick_s),
        ("digest", result["digest"]),
        ("recording", str(recording) if recording is not None else "none"),
    ]
    in_short = "all arrived" if result["arrived"] else "no agent had a goal"
    if result.get("staying") and not result["arrived"]:
        in_short = "all stay, as their behaviour never ends"
    if result["not_arrived"]:
        in_short = f"{result['not_arrived']:,} did not arrive"
    return f"{visible(result['scenario'])}: {in_short}\n{aligned(rows)}{left_text(result)}"


def verdict_rows(result: Mapping[str, Any], tick_s: float) -> list[tuple[str, str]]:
    """Return the results of a run as names and values; see `verdict_text`."""
    last, pressure = result["last_arrival_s"], result.get("most_requests_open")
    # those that stand and have arrived somewhere are counted among the arrived too
    standing_arrivals = (
        result["arrived"]
        + result["not_arrived"]
        + result["standing"]
        + result.get("staying", 0)
        - result["agents"]
    )
    with_goal = result["agents"] - result["standing"] - result.get("staying", 0) + max(0, standing_arrivals)
    simulated_s = result["simulated_s"] - result.get("begun_s", 0.0)
    factor = f"{simulated_s / result['wall_s']:.1f}" if result["wall_s"] > 0.0 else "-"
    deadlocked, reasons = _counts(result.get("deadlocked", {})), _counts(result["reasons"])
    replans = [f"{_times(count)} {cause}" for cause, count in result.get("replans", {}).items()]
    slowest = [f"{name} {ms:.2f} ms" for name, ms in [*result["ms_per_tick"].items()][:SLOWEST_SHOWN]]
    rows = {
        "ended": f"{result['ended']} at {result['simulated_s']:g} s "
        f"({result['ticks']:,} ticks of {tick_s:g} s)",
        "arrived": f"{result['arrived']:,} of {with_goal:,}"
        + (f", the last at {last:g} s" if last is not None else ""),
        "  by goal": _by_goal(result["arrivals"]),
        "not arrived": reasons if result["not_arrived"] else "",
        "deadlocks": f"{deadlocked} (stuck for 30 s)" if deadlocked else "",
        "flow": _flow_words(result),
        "came in": _came(result),
        "standing": f"{result['standing']:,} without a further goal" if result["standing"] else "",
        "staying": f"{result['staying']:,} as their behaviour never ends" if result.get("staying") else "",
        "overlaps": f"deepest {_length(result['deepest_overlap_m'])}"
        if result["deepest_overlap_m"]
        else "none",
        "symmetry": f"broken {_times(result['symmetries_broken'])}" if result["symmetries_broken"] else "",
        "pushed away": f"{_times(result['strays'])} so far off the path that a new one was asked for"
        if result["strays"]
        else "",
        "asked aside": _times(result["nudges"]) if result.get("nudges") else "",
        "chose anew": f"{_times(result['choice_changes'])}, for a goal that seemed quicker"
        if result.get("choice_changes")
        else "",
        "new paths": ", ".join(replans),
        "steered": f"{_times(result['steered'])} by a program" if result.get("steered") else "",
        "paths": f"{result['expansions']:,} expansions, longest wait {result['longest_wait_s']:g} s"
        + (f", at most {pressure:,} open at once" if pressure else ""),
        "time": f"{result['wall_s']:.2f} s, {factor} x real time; "
        f"worst tick {result['worst_tick_ms']:.1f} ms",
        "  slowest": f"{', '.join(slowest)} a tick" if slowest else "",
    }
    return [(name, text) for name, text in rows.items() if text]


def _came(result: Mapping[str, Any]) -> str:
    """Return how many came in while the run lasted, and how many found no room; empty if none were to."""
    waits = result.get("waiting_outside", 0)
    words = [f"{result['came']:,} while the run lasted"] if result.get("came") or waits else []
    if waits:
        words.append(f"{waits:,} more wait outside for room, the first for {result['longest_outside_s']:g} s")
    return ", ".join(words)


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {what}" for what, count in counts.items())


def aligned(rows: Rows) -> str:
    """Return names and values as two columns, long values broken at the width of the terminal;
    a path stays in one piece.
    """
    width = max(len(name) for name, _ in rows) + 2
    wrapper = textwrap.TextWrapper(
        min(terminal_width(), 120),
        subsequent_indent=" " * width,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return "\n".join(
        line if name == "recording" else wrapper.fill(line)
        for name, line in ((name, name.ljust(width) + value) for name, value in rows)
    )


def left_text(result: Mapping[str, Any]) -> str:
    """Return which agents did not arrive, one by one, and a warning if paths were long in coming;
    empty if there is nothing to say.
    """
    text = ""
    if result["left"]:
        more = result["not_arrived"] - len(result["left"])
        text += f"\n\n{_left_table(result['left'])}" + (f"\nand {more:,} more" if more > 0 else "")
    if result["longest_wait_s"] > LONG_WAIT_S:
        text += (
            f"\n\nwarning: a path request was open for {result['longest_wait_s']:g} s; a larger budget "
            f"(budget: {{work: ...}}) answers sooner"
        )
    return text + _flow_warning(result)


def _greatest_flow(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what is known of the exit with the greatest specific flow;
    None where no exit was used enough to tell.
    """
    return max(result.get("flows", []), key=lambda flow: flow["per_m_s"], default=None)


def _flow_words(result: Mapping[str, Any]) -> str:
    from crowdsim.measures.exit_flow import PEOPLE_PER_M_S  # loads numpy, which --help must not

    flow, (low, high) = _greatest_flow(result), PEOPLE_PER_M_S
    if flow is None:
        return ""
    law = "; not calibrated for flow" if result.get("speed_law") == "none" else ""
    return (
        f"{flow['per_m_s']:.2g} persons/(m s) through {visible(flow['exit'])}, {flow['width_m']:.2f} m "
        f"wide; measured people: {low:g} to {high:g}{law}"
    )


def _flow_warning(result: Mapping[str, Any]) -> str:
    """Return a warning where more get through an exit than people do;
    an evacuation is then quicker than a real one.
    """
    from crowdsim.measures.exit_flow import PEOPLE_PER_M_S

    flow, most = _greatest_flow(result), PEOPLE_PER_M_S[1]
    if flow is None or round(flow["per_m_s"], 1) <= most:  # as it is shown
        return ""
    way_out = (
        "; speed_density: weidmann slows crowds down as people do (docs/learn/models.md)"
        if result.get("speed_law") == "none"
        else ""
    )
    ratio = flow["per_m_s"] / most
    times = f"{ratio:.{2 if ratio >= 1.05 else 3}g} times as many as people at most do"
    through = f"through {visible(flow['exit'])} {flow['per_m_s']:.2g} persons get a second and metre"
    return f"\n\nwarning: {through}, {times}: this run is too fast to plan with{way_out}"


def _left_table(left: Sequence[Mapping[str, Any]]) -> str:
    """Return which agents did not arrive, why, and for which others they wait, as a table."""
    columns = {
        "agent": [str(each["agent"]) for each in left],
        "place (m)": [f"({each['x']:.2f}, {each['y']:.2f})" for each in left],
        "reason": [str(each["reason"]) for each in left],
        "stuck for": [f"{each['stuck_for_s']:g} s" if each["stuck_for_s"] else "" for each in left],
        "waits for": [str(each.get("waits_for", "")) for each in left],
    }
    if not any(columns["waits for"]):
        del columns["waits for"]
    return table(tuple(columns), list(zip(*columns.values(), strict=True)))


def _by_goal(arrivals: Mapping[str, int]) -> str:
    """Return the arrivals of the first goals; points without a name, which agents have of their own,
    are one entry.
    """
    points = [name for name in arrivals if name.startswith("(")]
    named = [(name, count) for name, count in arrivals.items() if name not in points]
    shown = [f"{name} {count:,}" for name, count in named[:MOST_GOALS]]
    if len(named) > MOST_GOALS:
        shown.append(f"{sum(count for _, count in named[MOST_GOALS:]):,} at {len(named) - MOST_GOALS:,} more")
    if points:
        shown.append(
            f"{sum(arrivals[name] for name in points):,} at {len(points):,} "
            f"point{'s' if len(points) > 1 else ''} of their own"
        )
    return ", ".join(shown)


def _length(metres: float) -> str:
    return f"{100.0 * metres:.1f} cm" if metres >= 0.01 else f"{1000.0 * metres:.2g} mm"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count:,} times"
