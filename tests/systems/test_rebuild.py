"""Ground is built as a task of the one time slicer:
in steps, on the account of planning, and put in between two ticks.
"""

import copy

import numpy as np
import pytest

from crowdsim.geometry.steps import at_once
from crowdsim.recording.opening import open_run
from crowdsim.setup.grounds import Grounds, TiledGrounds
from crowdsim.simulation.budget import ClockBudget, WorkBudget, recorded_grants
from crowdsim.systems.base.slices import Progress, Slicer, Wish
from crowdsim.systems.base.system import Tick
from crowdsim.systems.change_ground import ChangeGround
from crowdsim.systems.ground.building import HEAD_START, TASK
from crowdsim.systems.ground.rebuild import Order, Rebuild
from crowdsim.world.events import EventKind
from tests.crowds import digests, simulation
from tests.scenes.test_doors import ROOMS

CROSSED = {"when": {"crossed": [[6.1, 5], [6.1, 6.5]], "count": 3}}  # no clock can foresee it
EVENTS = [{**CROSSED, "close": "north"}, {**CROSSED, "open": "south"}]
TICKS = 75


def scene(budget, **more):
    return {**copy.deepcopy(ROOMS), "events": EVENTS, "budget": budget, **more}


def closing(run, ticks=TICKS):
    """Step on; return (tick of each kind of event of an area, counts by tick)."""
    happened, counts = {}, []
    for _ in range(ticks):
        for event in run.step():
            if event.kind in (EventKind.AREA_CLOSED, EventKind.AREA_OPENED):
                happened.setdefault(EventKind(event.kind), event.tick)
        counts.append(dict(run.counts))
    return happened, counts


@pytest.mark.sample(1)
@pytest.mark.parametrize("navigation", ["mesh", "visibility", {"kind": "mesh", "tile_size": 4}], ids=str)
def test_where_work_decides_ground_is_paid_for_by_the_polygon_and_put_in_when_it_is(navigation):
    with simulation(scene({"work": 100_000}, navigation=navigation)) as run:
        at_once_, counts = closing(run)
        paid = [count["ground_work"] for count in counts]
        assert (
            sum(paid) >= 3
            and np.count_nonzero(paid) == 1
            and max(count["ground_wait_ticks"] for count in counts) == 0
        )
        # in the tick in which it was ordered
        assert paid.index(sum(paid)) + 1 == at_once_[EventKind.AREA_CLOSED]
    with simulation(scene({"work": 1}, navigation=navigation)) as run:
        ticks = 0
        while "ground" not in run.budget.tasks:  # searches are slow, and so are the people
            run.step()
            ticks += 1
            assert ticks < 200
        ordered = run.tick
        late, counts = closing(run, 12)
        assert late[EventKind.AREA_CLOSED] == late[EventKind.AREA_OPENED] == ordered + sum(paid) - 1
        waits = [count["ground_wait_ticks"] for count in counts]
        assert waits[: int(late[EventKind.AREA_CLOSED] - ordered)] == [
            *range(1, int(late[EventKind.AREA_CLOSED] - ordered)),
            0,
        ]


def test_until_the_ground_is_there_the_door_is_open_for_all_and_then_shut_for_all():
    with simulation(scene({"work": 1}), threads=2) as run:
        while TASK not in run.budget.tasks:
            run.step()
        walls = len(run.world.walls.start)
        while TASK in run.budget.tasks:
            assert (
                run.system(ChangeGround).available.tolist() == [True, False]
                and len(run.world.walls.start) == walls
            )
            run.step()
        assert run.system(ChangeGround).available.tolist() == [False, True]
        for _ in range(40):
            before = run.world.agents.entity.copy(), run.world.agents.position.copy()
            run.step()
            known = np.isin(before[0], run.world.agents.entity)
            x, now = (
                before[1][known, 0],
                run.world.agents.position[np.isin(run.world.agents.entity, before[0])],
            )
            over = (x < 6.1) & (now[:, 0] >= 6.1)
            assert (now[over, 1] < 4.0).all()  # nobody by the north door


@pytest.mark.sample(2)
@pytest.mark.parametrize(
    "budget", [{"work": 1}, {"work": 100_000}, {"milliseconds": 0.001, "slice": 300}], ids=str
)
def test_ground_changes_between_two_ticks_and_never_in_the_middle_of_one(budget):
    with simulation(scene(budget)) as run:
        changes = 0
        for number in range(1, 120):
            tick, before = Tick(number, run.scenario.tick, run.team), run.world.mesh
            for system in run.systems:
                system.process(tick)
                is_new = run.world.mesh is not before
                assert not is_new or isinstance(
                    system, ChangeGround
                )  # before any system plans, steers or moves
                changes += is_new
                before = run.world.mesh
            run.world.tick = number
    assert changes == 1


def test_a_ground_that_the_clock_foresees_is_there_in_its_tick_however_little_work_there_is():
    events = [{"at": 2.0, "close": "north"}, {"at": 2.0, "open": "south"}]
    with simulation({**ROOMS, "events": events, "budget": {"work": 1}}) as run:
        happened, counts = closing(run, 25)
        assert happened == {EventKind.AREA_CLOSED: 21, EventKind.AREA_OPENED: 21} and not any(
            count["ground_work"] for count in counts
        )


@pytest.mark.sample(1)
@pytest.mark.parametrize(
    "navigation",
    ["mesh", {"kind": "grid", "cell_size": 0.2, "object_padding": 0.02}, {"kind": "mesh", "tile_size": 4}],
    ids=str,
)
def test_where_a_clock_decides_each_step_is_a_slice_and_the_run_is_run_again_from_what_was_granted(
    navigation, tmp_path
):
    # a slice a tick
    document, out = scene({"milliseconds": 0.001, "slice": 300}, navigation=navigation), tmp_path / "doors.h5"
    with simulation(document, out=out) as run:
        expected = digests(run, TICKS)
    with open_run(out) as recording:
        granted, ticks = recorded_grants(recording), recording.ticks()
    building = ticks["ground_work"] > 0
    assert (
        building.sum() >= 4
        and (ticks["ground_work"][building] == 300).all()
        and ticks["ground_wait_ticks"].max() >= 4
    )
    assert (ticks["expansions_granted"] == 300 * ticks["slices"]).all()
    for threads in (1, 2):
        with simulation(document, granted=granted, threads=threads) as run:
            assert digests(run, TICKS) == expected
    # with time for everything, in the tick in which it was ordered
    with simulation({**document, "budget": {"milliseconds": 1000, "slice": 300}}) as run:
        _, counts = closing(run)
        assert (
            max(count["ground_wait_ticks"] for count in counts) == 0
            and max(count["ground_work"] for count in counts) >= 4 * 300
        )


@pytest.mark.sample(1)
@pytest.mark.parametrize("budget", [{"work": 1}, {"milliseconds": 1, "slice": 50}], ids=str)
@pytest.mark.parametrize("navigation", ["mesh", {"kind": "mesh", "tile_size": 4}], ids=str)
def test_a_run_that_was_saved_while_ground_was_built_goes_on_bit_for_bit(budget, navigation):
    granted = dict.fromkeys(range(1, 400), 50) if "milliseconds" in budget else None
    document = scene(budget, navigation=navigation)
    with simulation(document, granted=granted) as run, simulation(document, granted=granted) as other:
        while TASK not in run.budget.tasks:
            run.step()
        states = []
        while TASK in run.budget.tasks:
            states.append((run.tick, run.state()))
            run.step()
        first = run.tick
        expected = digests(run, 10)
        assert len(states) >= 2
        for tick, state in states:
            other.restore(state)
            assert TASK in other.budget.tasks and other.state().keys() == state.keys()
            for _ in range(first - tick):
                other.step()
            assert digests(other, 10) == expected


def test_searches_are_not_starved_by_ground_that_is_large():
    slicer = Slicer(10)
    budget, served = WorkBudget(slicer, 10), []
    slicer.add("searches", lambda most: (served.append(tick), Progress(most, Wish.GO_ON))[1], due=0)
    slicer.add(TASK, lambda most: Progress(most, Wish.GO_ON), due=0, head_start=HEAD_START)
    for tick in range(120):
        budget.hurry(tick, TASK)
        budget.begin()
        budget.spend(tick)
    gaps = np.diff([0, *served])
    assert len(served) >= 5 and gaps.max() <= HEAD_START + 2


class PaidGrounds:
    """Grounds that cost five expansions each."""

    def is_foreseen(self, closed):
        return False

    def steps(self, closed):
        yield "cut"
        return closed

    def with_closed(self, closed):
        return closed

    def work_of(self, ground, before):
        return 5


def test_ground_that_is_paid_for_while_planning_is_put_in_before_the_next_tick():
    budget, put_in = WorkBudget(Slicer(10), 10), []
    rebuild = Rebuild(PaidGrounds(), budget, lambda order: [], put_in.append)
    rebuild.begin(Order(np.ones(1, dtype=bool), (), 3), 3)
    budget.begin()
    budget.spend(3)  # nothing hurried: an older task was next
    assert rebuild.work == 5 and put_in == [] and rebuild.order is not None
    rebuild.go_on(4)
    assert [order.tick for order in put_in] == [3] and rebuild.order is None and TASK not in budget.tasks


def test_what_hurries_is_on_the_account_of_planning():
    now = [0]
    budget = ClockBudget(Slicer(10), 1.0, planning=1, ground=0, clock=lambda: now[0])

    def build(most):
        now[0] += 300_000
        return Progress(most, Wish.GO_ON)

    budget.tasks.add(TASK, build, due=1, head_start=HEAD_START)
    budget.hurry(1, TASK)  # three steps: a fourth would not have fitted
    assert now[0] == 900_000
    budget.begin()
    spent = budget.spend(1)
    assert (spent.slices, spent.granted) == (3, 10 + 20 + 20)  # slices grow; too little was left
    readings = np.array([1_500_000, 50_000, 200_000])
    budget.note(readings)
    assert readings.tolist() == [600_000, 950_000, 200_000]
    assert budget.share_ns == 1_000_000 - 800_000  # what the others took
    budget.hurry(2, TASK)
    assert now[0] == 900_000 + 300_000  # one slice at least


def test_ground_that_is_built_in_steps_is_the_same_as_at_once():
    for tile_size in (0, 4):
        with simulation(
            {**ROOMS, "navigation": {"kind": "mesh", **({"tile_size": tile_size} if tile_size else {})}}
        ) as run:
            areas = [area.area for area in run.scenario.geometry.areas]
            make = TiledGrounds if tile_size else Grounds
            for closed in ([], areas[:1], areas):
                stepwise, whole = make(run.built), make(run.built)
                rests = [sum(1 for _ in stepwise.steps(closed)) for _ in range(2)]
                assert rests[0] == rests[1] >= 3  # what is known rests as often
                one, other = at_once(stepwise.steps(closed)), whole.with_closed(closed)
                if tile_size:
                    assert one.keys() == other.keys() and all(
                        tile.same_as(other[number]) for number, tile in one.items()
                    )
                else:
                    assert all(
                        np.array_equal(a, b, equal_nan=True)
                        for a, b in zip(one.build.mesh, other.build.mesh, strict=True)
                    )
                    assert all(
                        np.array_equal(a, b) for a, b in zip(one.build.walls, other.build.walls, strict=True)
                    )
