"""Every shipped scenario runs as it was recorded, bit for bit:
the first seconds agent by agent, what comes later by digests.

``python -m pytest tests/regression/test_shipped_scenarios.py --bless`` records them anew; a commit that does
says why, and what it said.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from crowdsim.recording.opening import open_run
from crowdsim.regression.golden_recordings import is_golden
from tests.crowds import LARGE, ROOT, SCENARIOS

GOLDEN = ROOT / "runs" / "golden"
MOST_BYTES = 100_000 * 32  # of all of them together


class Kept(NamedTuple):
    """What is kept of a scenario: all for so many seconds, digests until a later time;
    of large crowds fewer agents, of the largest less ground.
    """

    seconds: float
    until: float = 20.0
    counts: tuple[int, ...] = ()
    more: tuple[str, ...] = ()

    @property
    def sets(self) -> list[str]:
        """Values of the scenario to change."""
        return [*self.more, *(f"groups.{group}.count={count}" for group, count in enumerate(self.counts))]


KEPT = {
    "antipodal-circle": Kept(2.0),
    "basement-to-roof": Kept(1.0, until=60.0),
    "bottleneck": Kept(1.5, counts=(40,)),
    "bridge": Kept(1.5, counts=(20, 20)),
    "city": Kept(1.0, until=5.0, more=LARGE["city"]),
    "cliff": Kept(1.0, until=25.0),
    "closing-door": Kept(1.5),
    "concourse": Kept(1.5, counts=(8, 8, 8, 8)),
    "door-taken": Kept(1.5),
    "doorway-blocked": Kept(5.0),
    "exit-closes": Kept(1.5, counts=(36,)),
    "footbridge": Kept(1.0, until=60.0),
    "four-exits": Kept(1.0, until=15.0, counts=(40,)),
    "four-way-crossing": Kept(1.5, counts=(8, 8, 8, 8)),
    "goal-in-closed-room": Kept(2.0),
    "head-on-corridor": Kept(1.0),
    "idle-crowd": Kept(1.0, counts=(40, 4, 4)),
    "lorry": Kept(1.0, until=25.0),
    "moving-obstacle": Kept(2.0, counts=(20, 8)),
    "office-floor": Kept(1.5, counts=(12, 12)),
    "office-floor-visibility": Kept(1.5, counts=(12, 12)),
    "museum": Kept(1.0, until=60.0),
    "night-watch": Kept(2.0, until=90.0),
    "open-10000": Kept(1.0, until=5.0, counts=(10, 10, 10, 10)),
    "open-1000000": Kept(1.0, until=5.0, more=LARGE["open-1000000"]),
    "overpass": Kept(1.0, until=30.0),
    "park": Kept(1.5, counts=(12, 6, 6)),
    "platform": Kept(2.0, until=70.0),
    "room-evacuation": Kept(1.5, counts=(40,)),
    "school-class": Kept(1.5, until=50.0),
    "security-check": Kept(3.0, until=60.0),
    "spiral-stair": Kept(1.5, until=25.0),
    "stairwell": Kept(1.5, counts=(10, 10)),
    "street": Kept(1.0, until=40.0),
    "thief-and-guard": Kept(2.0, until=60.0),
    "tower": Kept(1.0, until=60.0),
    "two-storeys": Kept(1.5, counts=(12, 8, 8, 8)),
    "window": Kept(1.0, until=40.0),
    "unseen": Kept(3.0),
}
PATHS = sorted(SCENARIOS.glob("*.yaml"))


@pytest.mark.sample(7)
@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_shipped_scenario_runs_as_it_was_recorded(crowdsim_golden, path):
    kept = KEPT[path.stem]
    golden: Path = crowdsim_golden(path, seconds=kept.seconds, until=kept.until, sets=kept.sets)
    assert golden == GOLDEN / f"{path.stem}.h5" and golden.is_file()


@pytest.mark.parametrize("path", PATHS, ids=lambda path: path.stem)
def test_a_shipped_scenario_says_what_one_should_see(path):
    text = path.read_text(encoding="utf-8")
    assert text.startswith("# ") and "What one should see:" in text


def test_golden_recordings_are_small_and_of_shipped_scenarios_only():
    files = sorted(GOLDEN.iterdir())
    assert sorted(path.stem for path in files) == sorted(KEPT) == sorted(path.stem for path in PATHS)
    assert sum(path.stat().st_size for path in files) <= MOST_BYTES
    for path in files:
        with open_run(path) as recording:
            header, layout = recording.header, recording.layout
            assert is_golden(recording) and header.ticks_per_frame == 1 and header.exact and layout.trace
            assert (
                recording.commit.ticks
                == round(KEPT[path.stem].seconds / header.tick_s)
                == recording.commit.frames - 1
            )
