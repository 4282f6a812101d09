"""Agents that a program sends to ever other points, with paths over cells: what is known of other goals is
kept, and what leads to points that are no goal any more is given up.
"""

import numpy as np
import pytest

from crowdsim.navigation.grid.choices import Chooser
from crowdsim.systems.plan import Plan
from tests.crowds import simulation
from tests.scenes.test_grid_on_floors import GRID, house

TICKS = 44


def planner_of(run):
    return run.system(Plan).paths[0].planner


def send(run, number):
    """Send every agent to a point of its own in each second tick, on one floor or the other, and three of
    them to a common one, so that trees are shared.
    """
    entity = run.world.agents.entity
    if number % 2 == 0:
        rng = np.random.default_rng(number)
        storey = "low" if number % 4 else "high"
        place = np.column_stack([rng.uniform(1.0, 4.0, len(entity)), rng.uniform(1.0, 9.0, len(entity))])
        place[:4] = place[0]
        run.set_goal(entity, place, storey=storey)
    if number % 20 == 7:
        run.set_goal(entity[:1], {"region": {"box": [1, 1, 4, 2 + number / 20]}, "storey": "low"})


def sent(ticks=TICKS, before_each=lambda run: None):
    """Return the digests of a run in which agents are sent about, and how many lists there were at most."""
    found, most = [], 0
    crowd = {
        "name": "crowd",
        "count": 8,
        "region": {"box": [1, 1, 4, 9]},
        "storey": "low",
        "goals": ["attic"],
    }
    document = house(groups=[crowd], stop={"after": 60, "when": "never"}, budget={"work": 3000})
    with simulation(document, sets=[GRID]) as run:
        for number in range(ticks):
            before_each(run)
            send(run, number)
            run.step()
            found.append(run.digest)
            most = max(most, planner_of(run)._lists.count)
    return found, most


def test_lists_of_points_and_trees_are_given_up_with_the_points():
    """Each second tick has five new points, which is more than a hundred."""
    demands = []
    _, most = sent(before_each=lambda run: demands.append(len(planner_of(run).trees._demands)))
    assert most <= 2 * 8 + 8 and 0 < max(demands) <= 2 * 8 + 8


def test_what_is_kept_of_goals_is_what_would_be_found_out_anew(monkeypatch):
    def forget(run):
        planner = planner_of(run)
        planner.stand_on(run.world.mesh, run.world.goals)

    looked, find = [], Chooser._wall_distances

    def count(self, known):
        looked.append(len(self.piece) - len(self._goals.piece_polygon) - len(known))
        return find(self, known)

    monkeypatch.setattr(Chooser, "_wall_distances", count)
    digests, _ = sent()
    kept = sum(looked)
    looked.clear()
    assert sent(before_each=forget)[0] == digests
    assert 0 < kept < sum(looked) / 5, "points on rims are looked at once"


@pytest.mark.parametrize("at", [13, 30])
def test_a_state_saved_between_goes_on_the_same(at):
    def save(run):
        if run.tick == at:
            run.restore(run.state())

    assert sent(before_each=save)[0] == sent()[0]
