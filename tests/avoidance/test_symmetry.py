"""The symmetry breaker touches exact symmetries and rings, and nothing else."""

import numpy as np
import pytest

from crowdsim.avoidance import symmetry
from crowdsim.avoidance.symmetry import EXACT, MUTUAL, UNTOUCHED, SymmetryBreaker
from crowdsim.kernels.threads import Team
from tests.avoidance.crowds import ONE, antipodal, facing_blocks, random_view, walk
from tests.reference import symmetry as twin

IDEAL = 10.0 / 1.34  # s, across a circle of radius 5 m
ON: dict = {}


def adjust(breaker, entity, position, velocity, preferred, blocker, active=None, draws=None, team=ONE):
    n = len(entity)
    out, touched = np.empty((n, 2)), np.empty(n, np.uint8)
    arrays = [np.array(a, dtype=np.float64).reshape(n, 2) for a in (position, velocity, preferred)]
    counts = breaker.adjust(
        np.array(entity, dtype=np.int64),
        *arrays,
        np.ones(n, np.uint8) if active is None else active,
        np.array(blocker, dtype=np.int64),
        np.full(n, 0.5) if draws is None else draws,
        0.05,
        team,
        out,
        touched,
    )
    assert counts == (np.count_nonzero(touched == EXACT), np.count_nonzero(touched == MUTUAL))
    return out, touched


@pytest.mark.parametrize("side", ["right", "left", "random"])
@pytest.mark.parametrize("seed", range(3))
def test_adjust_agrees_with_reference_over_many_ticks(seed, side):
    rng = np.random.default_rng(seed)
    breaker = SymmetryBreaker(
        SymmetryBreaker.Parameters(
            side=side, patience=0.1, detour_time=0.15, retreat_patience=0.1, retreat_after=0.15
        )
    )
    own = breaker.parameters
    sign = {"right": (1.0, 1.0), "left": (-1.0, -1.0), "random": None}[side]
    exact = (
        (own.least_turn * sign[0], own.greatest_turn * sign[1])
        if sign
        else (-own.greatest_turn, own.greatest_turn)
    )
    ring = (
        (own.least_detour * sign[0], own.greatest_detour * sign[1])
        if sign
        else (-own.greatest_detour, own.greatest_detour)
    )
    memory, seen, entity = {}, set(), np.arange(1, 4)
    for tick in range(40):
        if tick % 10 == 0:
            entity = np.sort(rng.choice(np.arange(1, 14), size=int(rng.integers(2, 13)), replace=False))
        n = len(entity)
        position = rng.integers(0, 4, (n, 2)).astype(float)
        wish = rng.integers(-1, 2, (n, 2)).astype(float)
        velocity, draws = (
            wish * rng.choice([-0.3, 0.0, 0.05, 1.0], (n, 1), p=[0.4, 0.2, 0.3, 0.1]),
            rng.uniform(size=n),
        )
        blocker = rng.choice([-1, 0, *entity, *entity, *entity, 99], n)
        blocker = np.where(blocker == entity, 0, blocker)
        active = (rng.uniform(size=n) > 0.1).astype(np.uint8)
        memory = {int(e): memory.get(int(e), [0] * 8) for e in entity}
        agents = {
            int(e): {
                "position": tuple(position[i]),
                "velocity": tuple(velocity[i]),
                "preferred": tuple(wish[i]),
                "blocker": int(blocker[i]),
                "active": active[i],
                "draw": draws[i],
            }
            for i, e in enumerate(entity)
        }
        expected = twin.tick(agents, memory, own.slow, 2, 3, exact, ring, 4, 6)
        out, touched = adjust(breaker, entity, position, velocity, wish, blocker, active, draws)
        assert touched.tolist() == [expected[int(e)][1] for e in entity]
        assert np.allclose(out, [expected[int(e)][0] for e in entity], atol=1e-12)
        assert breaker.state()["stalled"].tolist() == [memory[int(e)][3] for e in entity]
        assert breaker.state()["retreating"].tolist() == [memory[int(e)][4] for e in entity]
        assert breaker.state()["holder"].tolist() == [memory[int(e)][5] for e in entity]
        assert breaker.state()["pressed"].tolist() == [memory[int(e)][6] for e in entity]
        assert breaker.state()["side"].tolist() == [memory[int(e)][7] for e in entity]
        seen |= set(touched.tolist())
    assert seen == {UNTOUCHED, EXACT, MUTUAL}


def test_untouched_agents_keep_their_wish_bit_for_bit_and_random_crowds_are_hardly_touched():
    view = random_view(1, 2000)
    rng = np.random.default_rng(0)
    blocker = rng.integers(0, 2001, 2000)
    out, touched = adjust(
        SymmetryBreaker(), view.entity, view.position, view.velocity, view.preferred_velocity, blocker
    )
    assert (out[touched == UNTOUCHED] == view.preferred_velocity[touched == UNTOUCHED]).all()
    assert np.count_nonzero(touched) <= 1


def test_a_lone_agent_is_never_touched():
    outcome = walk([[0.0, 0.0]], [[10.0, 3.7]], breaker=ON, keep_paths=True)
    assert outcome.touched == (0, 0)
    path = np.array(outcome.paths)[:, 0]
    alone = walk([[0.0, 0.0]], [[10.0, 3.7]], keep_paths=True)
    assert (path == np.array(alone.paths)[:, 0]).all()


def test_side_by_side_and_in_file_is_no_symmetry():
    # Same wish: what differs is rounding. Each is bound by its neighbour.
    for position, difference in (
        ([[0.0, 0.0], [0.0, 0.6]], (0.0, 1e-15)),
        ([[0.0, 0.0], [0.6, 0.0]], (1e-15, 0.0)),
    ):
        for sign in (1.0, -1.0):
            wish = np.array([[1.3, 0.0], [1.3, 0.0]])
            wish[0] += sign * np.array(difference)
            _, touched = adjust(SymmetryBreaker(), [1, 2], position, wish, wish, [2, 1])
            assert touched.tolist() == [UNTOUCHED, UNTOUCHED]


def test_the_side_is_the_declared_one_and_the_speed_is_kept():
    position, wish = [[0.0, 0.0], [4.0, 0.0]], np.array([[1.3, 0.0], [-1.3, 0.0]])
    for side, sign in (("right", -1.0), ("left", 1.0)):
        out, touched = adjust(
            SymmetryBreaker(SymmetryBreaker.Parameters(side=side)), [1, 2], position, wish, wish, [2, 1]
        )
        assert touched.tolist() == [EXACT, EXACT]
        assert sign * out[0, 1] > 0.05  # heading +x: the right is -y
        assert sign * out[1, 1] < -0.05
        assert np.hypot(*out.T) == pytest.approx([1.3, 1.3])


def test_the_draw_decides_how_far():
    position, wish = [[0.0, 0.0], [4.0, 0.0]], np.array([[1.3, 0.0], [-1.3, 0.0]])
    first, _ = adjust(SymmetryBreaker(), [1, 2], position, wish, wish, [2, 1], draws=np.array([0.1, 0.7]))
    again, _ = adjust(SymmetryBreaker(), [1, 2], position, wish, wish, [2, 1], draws=np.array([0.1, 0.7]))
    other, _ = adjust(SymmetryBreaker(), [1, 2], position, wish, wish, [2, 1], draws=np.array([0.3, 0.7]))
    assert (first == again).all()
    assert first[0].tolist() != other[0].tolist()
    assert first[1].tolist() == other[1].tolist()


def test_a_ring_must_hold_for_the_declared_time_before_it_is_turned():
    breaker = SymmetryBreaker(SymmetryBreaker.Parameters(patience=0.5, detour_time=0.2))
    position = [[0.0, 0.0], [0.5, 0.1], [0.2, 0.6]]
    wish, still = np.array([[1.0, 0.2], [-1.0, 0.3], [0.1, -1.0]]), np.zeros((3, 2))
    marks = [adjust(breaker, [3, 5, 9], position, still, wish, [5, 9, 3])[1].tolist() for _ in range(20)]
    assert marks[:9] == [[UNTOUCHED] * 3] * 9
    assert marks[9:13] == [[MUTUAL] * 3] * 4
    # A chain that ends at a wall is no ring.
    other = SymmetryBreaker(SymmetryBreaker.Parameters(patience=0.5))
    assert all(not adjust(other, [3, 5, 9], position, still, wish, [5, 9, -1])[1].any() for _ in range(20))


def sides_of_two(of_the_first, parameters, ticks=200, second=(-1.0, 0.0)):
    """Return (ticks, 2) across: where two that hold each other up turn to, if something else binds the first
    from the second tick on.
    """
    breaker, wish = SymmetryBreaker(parameters), np.array([[1.0, 0.0], second])
    found = []
    for tick in range(ticks):
        blocker = [of_the_first if tick else 5, 3]
        out, _ = adjust(
            breaker, [3, 5], [[0.0, 0.0], [0.5, 0.1]], wish * 0.0, wish, blocker, draws=np.array([0.2, 0.7])
        )
        found.append(out[:, 1] - wish[:, 1])
    return np.array(found)


def test_two_press_on_where_a_post_binds_one_that_the_other_held_up_before():
    """As two that meet in a doorway: both used to stand there, since a chain that ends at a post is no
    ring.
    """
    sides = sides_of_two(-1, SymmetryBreaker.Parameters(patience=0.5), 20)
    assert (sides[:9] == 0.0).all() and (sides[9:, 0] < 0.0).any() and (sides[9:, 1] > 0.0).any()
    # but not where another agent does, or where nothing does any more
    assert not sides_of_two(99, SymmetryBreaker.Parameters(patience=0.5), 20).any()
    assert not sides_of_two(0, SymmetryBreaker.Parameters(patience=0.5), 20).any()


def test_two_that_press_side_by_side_into_a_door_are_not_turned_away_from_it():
    """Arches in front of doors are full of them: the flow of people through 0.8 m fell by a tenth."""
    for second in ([1.0, 0.0], [0.1, -1.0]):
        assert not sides_of_two(-1, SymmetryBreaker.Parameters(patience=0.5), 40, second).any()
    assert sides_of_two(-1, SymmetryBreaker.Parameters(patience=0.5), 40, [-0.1, -1.0]).any()


def test_two_at_a_post_turn_for_as_long_as_is_drawn_and_the_one_at_the_post_to_either_side():
    sides = np.sign(sides_of_two(-1, SymmetryBreaker.Parameters(patience=0.5, detour_time=0.5))[10:])
    first = np.diff(np.flatnonzero(np.diff(sides[:, 0])))
    assert 6 <= first.min() < first.max() <= 21 and 0.3 < (sides[:, 0] > 0.0).mean() < 0.7
    assert (sides[:, 1] > 0.0).all()  # no wall binds it: always to the declared side


def test_memory_follows_agents_that_come_and_go_and_can_be_saved():
    breaker = SymmetryBreaker(SymmetryBreaker.Parameters(patience=0.5))
    wish = np.array([[1.0, 0.2], [-1.0, 0.3]])
    pair = [[0.0, 0.0], [0.5, 0.1]]
    for _ in range(6):
        adjust(breaker, [5, 9], pair, np.zeros((2, 2)), wish, [9, 5])
    restored = SymmetryBreaker(breaker.parameters)
    restored.restore(breaker.state())
    for one in (breaker, restored):
        more = np.array([[0.0, 1.0], *wish, [0.0, 1.0]])
        for _ in range(3):
            _, touched = adjust(
                one, [2, 5, 9, 11], [[9.0, 9.0], *pair, [20.0, 9.0]], more * 0.0, more, [0, 9, 5, 0]
            )
            assert not touched.any()
        _, touched = adjust(
            one, [2, 5, 9, 11], [[9.0, 9.0], *pair, [20.0, 9.0]], more * 0.0, more, [0, 9, 5, 0]
        )
        assert touched.tolist() == [UNTOUCHED, MUTUAL, MUTUAL, UNTOUCHED]


TICK = 0.05


def stand(
    velocity,
    preferred,
    blocker,
    *,
    entity=None,
    active=None,
    stalled=None,
    retreating=None,
    holder=None,
    team=ONE,
    **parameters,
):
    n = len(velocity)
    entity = np.arange(1, n + 1) if entity is None else np.array(entity, dtype=np.int64)
    velocity, preferred = np.array(velocity, dtype=np.float64), np.array(preferred, dtype=np.float64)
    active = np.ones(n, np.uint8) if active is None else active
    breaker = SymmetryBreaker(SymmetryBreaker.Parameters(**parameters))
    known = dict.fromkeys(
        ("blocked", "stalled", "pressed", "turning", "side", "events"), np.zeros(n, np.int32)
    )
    known |= {"entity": entity, "retreating": np.full(n, 1000, np.int32), "holder": np.zeros(n, np.int64)}
    breaker.restore(
        known
        | {
            name: each
            for name, each in (("stalled", stalled), ("retreating", retreating), ("holder", holder))
            if each is not None
        }
    )
    rows = breaker.stand(velocity, preferred, active, np.array(blocker, dtype=np.int64), TICK, team)
    return velocity, np.isin(np.arange(n), rows)


def holds_first(breaker, velocity, wish, blocker):
    """Whether the first of two agents holds its ground."""
    active = np.ones(2, np.uint8)
    return 0 in breaker.stand(velocity.copy(), np.array(wish), active, np.array(blocker), TICK, ONE)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("lasts", [0.0, 0.2, 1.0])
def test_agents_that_hold_their_ground_agree_with_reference(seed, lasts):
    rng = np.random.default_rng(seed)
    entity = np.sort(rng.choice(np.arange(1, 90), size=40, replace=False))
    velocity, wish = (
        rng.normal(size=(40, 2)),
        rng.normal(size=(40, 2)) * rng.choice([0.0, 1.0], (40, 1), p=[0.1, 0.9]),
    )
    blocker, active = (
        rng.choice([-1, 0, *entity, *entity, 99], 40),
        (rng.uniform(size=40) > 0.1).astype(np.uint8),
    )
    agents = {
        int(e): {
            "velocity": tuple(velocity[i]),
            "preferred": tuple(wish[i]),
            "blocker": int(blocker[i]),
            "active": active[i],
        }
        for i, e in enumerate(entity)
    }
    stalled = rng.integers(0, 15, 40, dtype=np.int32)
    retreating = rng.integers(10, 30, 40, dtype=np.int32)
    holder = rng.choice([0, *entity, 99], 40)
    by_entity = [
        dict(zip(entity.tolist(), each.tolist(), strict=True)) for each in (stalled, retreating, holder)
    ]
    expected = twin.shown(agents, lasts / (lasts + TICK), by_entity[0], 10, by_entity[1], 12, by_entity[2])
    out, holds = stand(
        velocity, wish, blocker, entity=entity, active=active, stalled=stalled, retreating=retreating,
        holder=holder, retreat_time=lasts, retreat_after=12 * TICK, retreat_patience=10 * TICK,
    )  # fmt: skip
    assert holds.tolist() == [expected[int(e)][1] for e in entity] and 0 < holds.sum() < 20
    assert np.allclose(out, [expected[int(e)][0] for e in entity], atol=1e-12)
    assert (out[~holds] == velocity[~holds]).all()


@pytest.mark.parametrize(("lasts", "shown"), [(0.0, 0.0), (0.05, -0.4), (0.2, -0.64)])
def test_an_agent_that_is_pushed_back_shows_less_of_its_retreat_and_all_of_its_step_aside(lasts, shown):
    wish = [[1.0, 0.0], [-1.0, 0.0]]
    out, holds = stand([[-0.8, 0.3], [-1.0, 0.0]], wish, [2, 1], retreat_time=lasts)
    assert np.allclose(out, [[shown, 0.3], [-1.0, 0.0]], rtol=1e-15) and holds.tolist() == [True, False]


def test_no_agent_holds_its_ground_before_one_that_does_not_get_on_until_it_does_again():
    entity, wish, back = [1, 2], [[1.0, 0.0], [-1.0, 0.0]], [-0.8, 0.3]
    breaker = SymmetryBreaker(SymmetryBreaker.Parameters(retreat_patience=0.5, retreat_after=0.0))
    holds = []
    for other in [-0.4] * 40 + [-0.6] * 40:
        velocity = np.array([back, [other, 0.0]])
        adjust(breaker, entity, [[0.0, 0.0], [0.6, 0.1]], velocity, wish, [2, 1])
        holds.append(holds_first(breaker, velocity, wish, [2, 1]))
    assert holds == [True] * 9 + [False] * 41 + [True] * 30  # 0.5 s are 10 ticks, either way


def test_a_step_back_is_left_alone_and_a_long_retreat_is_not():
    entity, wish = [1, 2], [[1.0, 0.0], [-1.0, 0.0]]
    breaker = SymmetryBreaker(SymmetryBreaker.Parameters(retreat_after=0.5))
    holds = []
    for own in [-0.8] * 20 + [0.2] * 11 + [-0.8] * 12:
        velocity = np.array([[own, 0.3], [-1.0, 0.0]])
        adjust(breaker, entity, [[0.0, 0.0], [0.6, 0.1]], velocity, wish, [2, 1])
        holds.append(holds_first(breaker, velocity, wish, [2, 1]))
    # 0.5 s are 10 ticks; twice that is remembered, and fades as it grew.
    assert holds == [False] * 9 + [True] * 11 + [False] * 11 + [True] * 12


def test_an_agent_pushed_back_along_a_wall_holds_its_ground_before_the_one_that_held_it_up_last():
    breaker = SymmetryBreaker(SymmetryBreaker.Parameters(retreat_after=0.0))
    entity, wish, velocity = [1, 2], [[1.0, 0.0], [-1.0, 0.0]], np.array([[-0.8, 0.0], [-1.0, 0.0]])
    holds = []
    for blocker in (-1, 2, -1, -1, 0, -1):
        adjust(breaker, entity, [[0.0, 0.0], [0.6, 0.1]], velocity, wish, [blocker, 1])
        holds.append(holds_first(breaker, velocity, wish, [blocker, 1]))
    assert holds == [False, True, True, True, False, False]


def test_an_agent_that_goes_back_before_none_or_one_that_goes_along_or_across_or_by_a_wall_is_left_alone():
    for other, blocker in (
        ([-1.0, 0.0], 0),
        ([-1.0, 0.0], -1),
        ([1.0, 0.0], 2),
        ([0.0, 1.0], 2),
        ([-1.0, 1.8], 2),
    ):
        velocity = [[-0.8, 0.3], [-1.0, 0.0]]
        out, holds = stand(velocity, [[1.0, 0.0], other], [blocker, 0])
        assert out.tolist() == velocity and not holds.any()


@pytest.mark.parametrize("seed", range(3))
def test_mirrors_turns_and_threads_change_nothing_of_which_agents_hold_their_ground(seed):
    rng = np.random.default_rng(seed)
    velocity, wish, blocker = (
        rng.normal(size=(3000, 2)),
        rng.normal(size=(3000, 2)),
        rng.integers(-1, 3001, 3000),
    )
    expected, holds = stand(velocity, wish, blocker)
    assert holds.any()
    assert (stand(velocity * [1, -1], wish * [1, -1], blocker)[0] == expected * [1, -1]).all()
    turned = [np.stack([-a[:, 1], a[:, 0]], axis=1) for a in (velocity, wish, expected)]
    assert (stand(turned[0], turned[1], blocker)[0] == turned[2]).all()
    team = Team(3)
    assert (stand(velocity, wish, blocker, team=team)[0] == expected).all()
    team.close()


def test_the_number_of_threads_changes_nothing():
    view = random_view(1, 3000)
    blocker = np.random.default_rng(0).integers(-1, 3001, 3000)
    wish = np.round(view.preferred_velocity)
    position = np.round(view.position)
    expected = adjust(SymmetryBreaker(), view.entity, position, view.velocity * 0.0, wish, blocker)
    assert expected[1].any()
    for threads in (2, 3, 7):
        team = Team(threads)
        found = adjust(
            SymmetryBreaker(), view.entity, position, view.velocity * 0.0, wish, blocker, team=team
        )
        team.close()
        assert all((a == b).all() for a, b in zip(found, expected, strict=True))


@pytest.mark.sample(1)
@pytest.mark.parametrize("n", [2, 4, 8, 16, 24])
def test_exact_circles_stop_for_good_without_the_breaker_and_arrive_with_it(n):
    start, goal = antipodal(n)
    start, goal = (np.round(start, 12), np.round(goal, 12)) if n < 8 else (start, goal)
    outcome = walk(start, goal, breaker=ON)
    assert outcome.last <= 2.0 * IDEAL
    assert outcome.touched.exact > 0
    assert np.isinf(walk(start, goal, limit=30.0).last)


@pytest.mark.sample(2)
@pytest.mark.parametrize("n", [8, 16, 24])
@pytest.mark.parametrize("seed", range(3))
def test_circles_with_5_cm_noise_arrive(n, seed):
    outcome = walk(*antipodal(n, noise=0.05, seed=seed), breaker=ON)
    assert outcome.last <= 2.0 * IDEAL
    assert outcome.deepest <= 0.025  # RVO2 itself reaches 0.018 on these starts


@pytest.mark.full
@pytest.mark.parametrize("n", [8, 16, 24])
@pytest.mark.parametrize("noise", [0.0, 0.05])
def test_circles_arrive_for_thirty_seeds(n, noise):
    outcomes = [walk(*antipodal(n, noise=noise, seed=seed), breaker=ON, seed=seed) for seed in range(30)]
    assert max(outcome.last for outcome in outcomes) <= 2.0 * IDEAL
    assert max(outcome.deepest for outcome in outcomes) <= 0.035


@pytest.mark.parametrize("columns, rows", [(1, 1), (1, 2), (2, 1), (2, 2), (3, 3), (1, 5)])
def test_facing_blocks_change_places(columns, rows):
    outcome = walk(*facing_blocks(columns, rows), breaker=ON)
    # In larger blocks ORCA may let an oncoming walker push an agent back by several metres, as RVO2 does:
    # twice the ideal and a little.
    assert outcome.last <= (1.5 if columns * rows <= 4 else 2.2) * IDEAL
    assert outcome.deepest <= 0.01


def test_an_exact_pair_passes_on_the_declared_side():
    for side, sign in (("right", -1.0), ("left", 1.0)):
        outcome = walk(
            [[-5.0, 0.0], [5.0, 0.0]], [[5.0, 0.0], [-5.0, 0.0]], breaker={"side": side}, keep_paths=True
        )
        eastbound = np.array(outcome.paths)[:, 0]
        middle = eastbound[np.abs(eastbound[:, 0]).argmin()]
        assert sign * middle[1] > 0.1


def test_without_a_breaker_nothing_differs_from_one_that_finds_nothing():
    start, goal = antipodal(8, noise=0.05, seed=2)
    with_it, without = walk(start, goal, breaker=ON, keep_paths=True), walk(start, goal, keep_paths=True)
    assert with_it.touched == (0, 0)
    assert all((a == b).all() for a, b in zip(with_it.paths, without.paths, strict=True))


@pytest.mark.parametrize("seed", range(30))
def test_what_is_remembered_goes_with_those_that_stay(seed):
    rng = np.random.default_rng(seed)
    most = int(rng.choice([300, 3_000, 30_000]))  # near each other, with gaps, and far beyond a table of rows

    def some():
        ids = rng.choice(np.arange(1, most), int(rng.integers(0, 200)), replace=False)
        return np.sort(np.append(ids, 10**15 + rng.integers(0, 9, rng.integers(0, 2))))

    before, now = some(), some()
    old, new = (symmetry._fresh(len(entity)) for entity in (before, now))
    for column in (*old, *new):
        column[:] = rng.integers(1, 100, len(column))
    for part in ((0, len(now) // 2), (len(now) // 2, len(now))):
        symmetry.carry_over(*part, symmetry._rows_of(before), now, old, new)
    expected = twin.carried(before.tolist(), list(zip(*(each.tolist() for each in old))), now.tolist())
    assert list(zip(*(each.tolist() for each in new))) == expected
    assert len(before) < 20 or most > 300 or any(any(each) for each in expected)
