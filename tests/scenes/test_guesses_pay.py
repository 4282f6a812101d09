"""Guesses pay on open plans and cost little in mazes, while searches are starved ([Norberg 2004],
figures 16 and 17).
"""

import pytest

from analysis.guesses import maze, mean_arrival, open_plan


@pytest.mark.full
@pytest.mark.parametrize(
    "kind, work",
    [
        ("mesh", 10),
        pytest.param("optimal", 10, marks=pytest.mark.full),
        pytest.param("visibility", 4, marks=pytest.mark.full),
    ],
)
def test_on_an_open_plan_people_arrive_sooner_with_guesses_and_in_a_maze_at_most_a_tenth_later(kind, work):
    agents = 16
    stay, guess = (mean_arrival(open_plan(), how, agents, work, kind) for how in ("stay", "guess"))
    assert stay[1] > 1.0  # starved
    assert guess[0] < 0.95 * stay[0]
    for seed in (1, 2):
        stay, guess = (mean_arrival(maze(seed), how, agents, work, kind) for how in ("stay", "guess"))
        assert stay[1] > 1.0
        assert guess[0] <= 1.1 * stay[0]
