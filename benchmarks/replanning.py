"""What looking for agents in the way costs:
the shares of DetectBlocked, Replan and Plan in the ticks of 10,000 agents that walk.

``python benchmarks/replanning.py``
"""

from __future__ import annotations

from pathlib import Path

from crowdsim import Simulation, load_scenario

SCENE = Path(__file__).resolve().parent.parent / "scenarios" / "open-10000.yaml"
FIRST, TICKS = 10, 60  # the first ticks find all paths, which is no replanning


def shares() -> tuple[int, float, float, float]:
    """Return the agents, what looking for those in the way takes in a tick (ms),
    what the whole tick takes (ms), and how many looks a tick had a trigger.
    """
    scenario = load_scenario(SCENE, sets=["bodies.replanning=true"])
    with Simulation(scenario) as run:
        for _ in range(FIRST):
            run.step()
        before, looks = dict(run.verdict().ms_per_tick), 0.0
        for _ in range(TICKS):
            run.step()
            looks += run.counts["replan_triggers"]
        after = run.verdict().ms_per_tick
    spent = {
        name: (ms * (FIRST + TICKS) - before.get(name, 0.0) * FIRST) / TICKS for name, ms in after.items()
    }
    return (
        scenario.agent_count,
        spent["DetectBlocked"] + spent["Replan"] + spent["Plan"],
        sum(spent.values()),
        looks / TICKS,
    )


def main() -> None:
    """Print the shares."""
    people, own, total, looks = shares()
    print(
        f"{people:,} people: {own:.2f} of {total:.2f} ms a tick, {100.0 * own / total:.1f} %; {looks:.0f} "
        "looks a tick had a trigger"
    )


if __name__ == "__main__":
    main()
