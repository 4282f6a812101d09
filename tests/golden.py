"""Golden runs: digests of every shipped scenario, kept under runs/golden/.

``python -m tests.golden`` records them anew; a commit that does says why, with before and after.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

from crowdsim.scenario.load import load_scenario
from crowdsim.schedule.simulation import Simulation
from crowdsim.systems.record import DIGEST_COLUMNS, Record
from tests.crowds import ROOT, SCENARIOS

GOLDEN = ROOT / "runs" / "golden"
EVERY = 20
MOST_TICKS = 400
MOST_AGENT_TICKS = 600_000  # A run is kept for fewer ticks where it has many agents, so that all of them are replayed in seconds.


def scenarios() -> list[Path]:
    """Return the scenarios that ship."""
    return sorted(SCENARIOS.glob("*.yaml"))


def replay(path: Path, ticks: int | None = None) -> dict[str, Any]:
    """Run a scenario; return its digests every `EVERY` ticks."""
    scenario = load_scenario(path)
    ticks = ticks or min(MOST_TICKS, max(EVERY, MOST_AGENT_TICKS // max(1, scenario.agent_count) // EVERY * EVERY))
    rows: list[list[str]] = []
    with Simulation(scenario) as run:
        record = next(system for system in run.systems if isinstance(system, Record))
        while run.tick < ticks and not run.why_over():
            run.step()
            if run.tick % EVERY == 0:
                rows.append([f"{run.tick}", run.digest, *(f"{int(value):016x}" for value in record.last)])
        rows.append([f"{run.tick}", run.digest, *(f"{int(value):016x}" for value in record.last)])
    text = hashlib.blake2b(scenario.canonical().encode(), digest_size=16).hexdigest()
    return {"scenario": path.name, "canonical": text, "agents": scenario.agent_count, "columns": list(DIGEST_COLUMNS), "digests": rows}


def first_difference(golden: dict[str, Any], fresh: dict[str, Any]) -> str:
    """Return in words where two replays part; an empty string if nowhere."""
    if golden["canonical"] != fresh["canonical"]:
        return "the scenario itself is another: its file, its geometry or a default has changed"
    if golden["columns"] != fresh["columns"]:
        return f"other columns are digested: {golden['columns']} then, {fresh['columns']} now"
    for then, now in zip(golden["digests"], fresh["digests"], strict=False):
        if then != now:
            columns = [name for name, a, b in zip(golden["columns"], then[2:], now[2:], strict=True) if a != b]
            return f"at tick {then[0]} (compared every {EVERY}): {', '.join(columns) or 'only the past'} differ; run digest {then[1]} then, {now[1]} now"
    if len(golden["digests"]) != len(fresh["digests"]):
        return f"it ended at tick {golden['digests'][-1][0]} then, at {fresh['digests'][-1][0]} now"
    return ""


def main() -> None:
    """Record all golden runs, or those named."""
    GOLDEN.mkdir(parents=True, exist_ok=True)
    for path in scenarios():
        if sys.argv[1:] and path.stem not in sys.argv[1:]:
            continue
        fresh = replay(path)
        target = GOLDEN / f"{path.stem}.json"
        before = first_difference(json.loads(target.read_text()), fresh) if target.exists() else "new"
        target.write_text(json.dumps(fresh, indent=None, separators=(",", ":")).replace("],[", "],\n[") + "\n")
        sys.stdout.write(f"{path.stem}: {before or 'unchanged'}\n")


if __name__ == "__main__":
    main()
