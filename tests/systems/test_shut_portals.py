"""What a walker remembers of portals that were found shut: which one, for how long, and when it forgets."""

from types import SimpleNamespace

import numpy as np
import pytest

from crowdsim.navigation.search.slot_fields import MOST_PRICED
from crowdsim.systems.paths.shut_portals import forget_old, forget_open, remember_shut

TWIN = 10  # Portal i is seen from behind as portal TWIN + i.
CORNER = (20.0, 0.0)


def walker(priced=(), until=()):
    """One at (0, 0) whose corridor leads through portals 0 to 5 at x = 1 to 6 m, each 1 m wide;
    corridors are kept from the goal's end.
    """
    count, at = 6, np.arange(1.0, 7.0)
    vertex = np.concatenate(
        [np.column_stack([at, np.full(count, -0.5)]), np.column_stack([at, np.full(count, 0.5)])]
    )
    edge_vertex, edge_end = np.zeros(2 * TWIN, dtype=np.int32), np.zeros(2 * TWIN, dtype=np.int32)
    edge_vertex[:count], edge_end[:count] = np.arange(count), np.arange(count) + count
    portal, ticks = np.full((1, MOST_PRICED), -1, dtype=np.int32), np.zeros((1, MOST_PRICED), dtype=np.int64)
    portal[0, : len(priced)], ticks[0, : len(until)] = priced, until
    agents = SimpleNamespace(
        position=np.zeros((1, 2)),
        next_corner=np.array([CORNER]),
        corridor_start=np.array([2]),
        corridor_length=np.array([count]),
        priced_portal=portal,
        priced_until=ticks,
    )
    mesh = SimpleNamespace(
        vertex=vertex,
        edge_vertex=edge_vertex,
        edge_end=edge_end,
        edge_twin=(np.arange(2 * TWIN) + TWIN) % (2 * TWIN),
    )
    cells = np.array([17, 18, 5, 4, 3, 2, 1, 0, 19], dtype=np.int32)  # others' corridors on both sides
    return SimpleNamespace(agents=agents, mesh=mesh, corridors=SimpleNamespace(portals=cells))


def remembered(world):
    """Portals and until when, in the order of their places."""
    agents = world.agents
    return [
        (int(p), int(t))
        for p, t in zip(agents.priced_portal[0], agents.priced_until[0], strict=True)
        if p >= 0
    ]


ROW = np.array([0])


@pytest.mark.parametrize(
    ("aim", "reach", "portal"),
    [
        (0.9, 9.0, 0),
        (1.4, 9.0, 1),  # an agent's width beyond it, at 1.7 m, portal 1 is nearer than portal 0
        (2.2, 9.0, 1),  # 2.5 m lies between two: the one that comes first
        (4.0, 3.5, 2),  # portal 3 is out of the grid
        (0.5, 0.9, None),  # all are
    ],
)
def test_the_portal_that_is_shut_is_the_one_nearest_to_a_place_a_body_beyond_where_the_grid_leads(
    aim, reach, portal
):
    world = walker()
    remember_shut(world, ROW, np.array([[aim, 0.0]]), reach, 70)
    assert remembered(world) == ([] if portal is None else [(portal, 70)])


@pytest.mark.parametrize("known", [1, TWIN + 1], ids=["from before", "from behind"])
def test_a_portal_that_is_found_shut_again_is_remembered_once_and_for_longer(known):
    world = walker([5, known], [90, 30])
    remember_shut(world, ROW, np.array([[1.6, 0.0]]), 9.0, 80)
    assert remembered(world) == [(5, 90), (1, 80)]


def test_of_four_the_one_that_would_be_forgotten_first_gives_way():
    world = walker([5, 4, 3, 2], [60, 50, 40, 70])
    remember_shut(world, ROW, np.array([[0.7, 0.0]]), 9.0, 80)
    assert remembered(world) == [(5, 60), (4, 50), (0, 80), (2, 70)]


def test_what_was_remembered_until_now_is_forgotten_and_the_rest_keeps_its_time():
    world = walker([5, 4, 3], [50, 51, 90])
    forget_old(world.agents, ROW, 50)
    assert remembered(world) == [(4, 51), (3, 90)]
    assert (world.agents.priced_until[0, 2:] == 0).all()


def test_portals_ahead_within_reach_are_forgotten_from_both_sides_when_the_way_is_open():
    world = walker([0, TWIN + 1, 4, TWIN + 5], [50, 60, 70, 80])
    forget_open(world, ROW, 2.5)
    assert remembered(world) == [(4, 70), (TWIN + 5, 80)]
