"""The page in a browser: it draws, plays, seeks and selects, tells what the recording says,
and its console stays empty.
"""

import json
import time
from decimal import ROUND_HALF_UP, Decimal

import numpy as np
import pytest

from crowdsim.pictures.view.page import write_page
from crowdsim.recording.opening import open_run
from crowdsim.scenario.load import parse_scenario
from crowdsim.simulation.simulation import Simulation
from tests.pictures import chromium
from tests.pictures.test_view_page import NASTY, document, recorded

pytestmark = pytest.mark.skipif(
    chromium.found() is None, reason="a browser is missing: Chromium (Debian: apt-get install chromium)"
)

FLOORS = {
    "version": 1,
    "name": "floors",
    "tick": 0.1,
    "stop": {"after": 8, "when": "all_arrived"},
    "geometry": {
        "storeys": [
            {"name": "ground", "elevation": 0, "walkable": [{"box": [0, 0, 8, 5]}]},
            {"name": "upper", "elevation": 2, "walkable": [{"box": [12, 0, 20, 5]}]},
        ],
        "connections": [
            {
                "name": "stair",
                "kind": "stair",
                "lower": "ground",
                "upper": "upper",
                "foot": [[8, 1], [8, 3]],
                "head": [[12, 1], [12, 3]],
            }
        ],
    },
    "goals": {"desk": {"point": [18, 2], "storey": "upper", "arrive_within": 0.5}},
    "groups": [
        {
            "name": "walkers",
            "storey": "ground",
            "agents": [{"id": 1, "position": [6, 2], "speed": 1.5, "goals": ["desk"]}],
        }
    ],
    "record": {"rate": 10},
}


@pytest.fixture(scope="module")
def tab():
    with chromium.browser() as opened:
        opened.size(1200, 760)
        yield opened


@pytest.fixture(scope="module")
def busy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("browser")
    path = recorded(folder / "run.h5", document())
    with open_run(path) as recording:
        write_page(recording, folder / "run.html")
    return path, folder / "run.html"


@pytest.fixture
def page(tab, busy):
    tab.open(busy[1])
    yield tab
    assert tab.problems() == []
    assert all(address.startswith(("file:", "data:")) for address in tab.requests())


def dots(tab, canvas):
    """A number that changes when a canvas does, and how many colours it has."""
    return tab.evaluate(f"""(() => {{
        const c = document.getElementById('{canvas}'), copy = new OffscreenCanvas(c.width, c.height);
        const to = copy.getContext('2d', {{ willReadFrequently: true }});
        to.drawImage(c, 0, 0);
        const d = new Uint32Array(to.getImageData(0, 0, c.width, c.height).data.buffer);
        let sum = 0; for (let i = 0; i < d.length; i++) sum = (sum * 31 + d[i]) >>> 0;
        return [sum, new Set(d).size];
    }})()""")


def text(tab, element):
    return tab.evaluate(f"document.getElementById('{element}').textContent")


def on_screen(tab, entity):
    """Where an agent is in the window."""
    return tab.evaluate(f"""(() => {{
        const {{ crowd, stage }} = page, agent = crowd.arrays.agent_entity.indexOf({entity});
        const {{ frame, share }} = crowd.frameAt(page.time);
        const [row, s] = crowd.rowOf(agent, frame), box = stage.canvas.getBoundingClientRect();
        const [x, y] = stage.toScreen(...crowd.place(row, s, share), stage.shown()[0]);
        return [box.left + x, box.top + y];
    }})()""")


def test_it_draws_and_a_name_is_text(page):
    page.drawn()
    assert all(dots(page, canvas)[1] > 5 for canvas in ("plan", "line", "costs"))
    assert (
        text(page, "name") == NASTY
        and page.evaluate("document.querySelectorAll('h1 *, script:not([type])').length") == 1
    )
    assert text(page, "notice") == "" and "38 agents" in text(page, "summary")


def test_the_strip_of_costs_is_as_high_as_ticks_were_long_to_the_microsecond(page):
    drawn, microseconds = page.evaluate("""(() => {
        const { strips, crowd } = page, seen = [], height = 1000, low = height - 1, high = 2;
        const context = new Proxy(
            {}, { get: (_, name) => name === 'lineTo' ? (x, y) => seen.push(y) : () => {}, set: () => true });
        strips.paintCosts(context, 800, height, () => '#000');
        const tops = seen.slice(0, 2 * strips.seconds.length).filter((_, k) => k % 2 === 0);
        return [tops.map(y => (low - y) / (low - high) * strips.mostMs * 1000),
                Array.from(crowd.arrays.column_microseconds, v => Math.min(v, 1000 * strips.mostMs))];
    })()""")
    assert len(drawn) == len(microseconds) > 10 and any(value % 1000 for value in microseconds)
    assert drawn == pytest.approx(microseconds, abs=1.0)


def test_places_are_those_of_the_recording(page, busy):
    with open_run(busy[0]) as recording:
        times, rows = recording.frames()["time_s"].to_numpy(), recording.trajectories(columns=["x", "y"])
    for frame in range(0, len(times), 3):
        seen = page.evaluate(f"(page.seek({times[frame]}), page.places())")
        there = rows[rows["frame"] == frame]
        assert sorted(map(int, seen)) == there["id"].tolist()
        for entity, x, y in there[["id", "x", "y"]].itertuples(index=False):
            assert np.hypot(seen[str(entity)][0] - x, seen[str(entity)][1] - y) < 0.005


def test_it_plays_and_pauses_by_the_space_bar(page):
    page.drawn()
    before = dots(page, "plan")
    page.press(" ", " ")
    assert text(page, "play") == "Pause"
    deadline = time.monotonic() + 10.0
    while page.evaluate("page.time") < 0.5 and time.monotonic() < deadline:
        time.sleep(0.05)
    page.press(" ", " ")
    page.drawn()
    assert text(page, "play") == "Play" and dots(page, "plan") != before
    stopped = page.evaluate("page.time")
    page.drawn()
    assert stopped >= 0.5 and page.evaluate("page.time") == stopped


def test_a_click_on_the_time_line_and_arrows_seek(page):
    left, top, width, begin, end = page.evaluate(
        "(() => { const b = byId('line').getBoundingClientRect(); return [b.left, b.top, b.width, "
        "page.crowd.begin, page.crowd.end]; })()"
    )
    page.click(left + width / 2, top + 30)
    assert page.evaluate("page.time") == pytest.approx((begin + end) / 2, abs=0.05)
    page.evaluate("page.seek(2.0)")
    for key, at in (("ArrowRight", 2.2), ("ArrowLeft", 2.0), ("ArrowLeft", 1.8), ("End", 6.0), ("Home", 0.0)):
        page.press(key)
        assert page.evaluate("page.time") == pytest.approx(at)
    page.drawn()
    assert text(page, "clock") == "0.0 s"


def test_a_click_selects_and_escape_lets_go(page, busy):
    page.evaluate("page.seek(3.0)")
    with open_run(busy[0]) as recording:
        roster, events = recording.roster(), recording.events()
    chosen = roster[(roster["group_name"] == "to_east") & (roster["index"] == 3)]["entity"].item()
    page.click(*on_screen(page, chosen))
    page.drawn()
    assert text(page, "agent").startswith("to_east[3]") and "east" in text(page, "agent")
    assert (
        page.evaluate("document.querySelectorAll('#events li').length") == (events["entity"] == chosen).sum()
    )
    page.press("Escape")
    page.drawn()
    assert text(page, "agent") == "Nobody is selected."
    page.evaluate("page.find('listed[1]')")
    page.drawn()
    assert text(page, "agent").startswith("listed[1]")


def test_what_a_tick_took_and_how_many_wait_stands_beside_the_clock(page, busy):
    with open_run(busy[0]) as recording:
        first = recording.ticks().iloc[0]
        # what the page is given
        microseconds = round(recording.timings().drop(columns="tick").iloc[0].sum() / 1e3)
    took = Decimal(microseconds / 1000).quantize(Decimal("0.01"), ROUND_HALF_UP)  # as JavaScript rounds
    page.evaluate("page.seek(0.1)")
    page.drawn()
    assert text(page, "now") == f"38 people, {took} ms, {int(first['requests_open'])} requests waiting"
    over = page.evaluate("(page.crowd.facts.budget_ms = 1e-6, page.strips.words(0.1))")
    assert "over the budget: " in over and over.split("over the budget: ")[1].split(",")[0] in page.evaluate(
        "page.crowd.facts.systems"
    )


def test_the_door_closes_on_the_picture_and_in_the_list(page):
    page.drawn()
    assert "</script>door closes" in text(page, "events") and "cart appears" in text(page, "events")
    page.evaluate("document.querySelector('#events button').click()")
    assert page.evaluate("page.time") == pytest.approx(1.1)
    assert page.evaluate("[2.0, 2.1].map(t => page.crowd.isOpen(page.crowd.facts.doors[0], t))") == [
        True,
        False,
    ]
    assert page.evaluate(
        "[1.0, 2.0, 3.2].map(t => page.crowd.obstacle(0, page.crowd.frameAt(t).frame, 0) !== null)"
    ) == [False, True, False]


def test_colours_trails_and_darkness_change_the_picture(page):
    page.evaluate("page.seek(6.0)")
    seen = set()
    for element, value in (("colour", "state"), ("colour", "group"), ("trails", "5"), ("trails", "all")):
        page.evaluate(
            f"(() => {{ const e = byId('{element}'); e.value = '{value}'; e.dispatchEvent(new "
            f"Event('change')); }})()"
        )
        page.drawn()
        seen.add(dots(page, "plan")[0])
        if value in ("state", "group"):
            assert ("walking" if value == "state" else "to_west") in text(page, "legend")
    page.evaluate("byId('theme').click()")
    page.drawn()
    seen.add(dots(page, "plan")[0])
    assert len(seen) == 5 and text(page, "theme") == "Light"


def test_a_wheel_zooms_to_the_pointer_and_fit_goes_back(page):
    page.drawn()
    scale, at = (
        page.evaluate("page.stage.scale"),
        page.evaluate(
            "(() => { const b = byId('plan').getBoundingClientRect(); return [b.left + 200, b.top + 150]; "
            "})()"
        ),
    )
    under = (
        "(() => { const s = page.stage; return [s.x + (200 - s.width / 2) / s.scale, s.y - (150 - s.height "
        "/ 2) / s.scale]; })()"
    )
    place = page.evaluate(under)
    page.call("Input.dispatchMouseEvent", type="mouseWheel", x=at[0], y=at[1], deltaX=0, deltaY=-300)
    page.drawn()
    assert page.evaluate("page.stage.scale") > 1.3 * scale and page.evaluate(under) == pytest.approx(
        place, abs=1e-6
    )
    page.evaluate("byId('fit').click()")
    assert page.evaluate("page.stage.scale") == pytest.approx(scale)


@pytest.mark.parametrize(("width", "height"), [(800, 600), (1600, 900)])
def test_nothing_is_cut_off_in_small_and_large_windows(page, width, height):
    page.size(width, height)
    page.drawn()
    page.drawn()
    wide, high, plan = page.evaluate(
        "[document.documentElement.scrollWidth, document.documentElement.scrollHeight, "
        "byId('plan').getBoundingClientRect().height]"
    )
    page.size(1200, 760)
    assert (wide, high) == (width, height) and plan > 0.4 * height


def test_floors_lie_side_by_side_and_have_buttons(tab, tmp_path):
    with Simulation(parse_scenario(json.dumps(FLOORS)), out=tmp_path / "run.h5") as run:
        run.run()
    with open_run(tmp_path / "run.h5") as recording:
        write_page(recording, tmp_path / "run.html")
        last = recording.trajectories(columns=["layer"])["layer"].iloc[-1]
    tab.open(tmp_path / "run.html")
    assert tab.evaluate("[...byId('floors').children].map(b => b.textContent)") == [
        "All floors",
        "ground",
        "upper",
        "stair",
    ]
    tab.evaluate("page.seek(page.crowd.end)")
    shown = "page.stage.shown().map(f => f.number).sort()"
    assert tab.evaluate(shown) == [0, 1, 2]
    tab.evaluate("byId('floors').children[2].click()")
    tab.drawn()
    assert last == 1 and tab.evaluate(shown) == [1]
    assert tab.evaluate("page.stage.floorOf(page.crowd.x.length - 1, page.stage.shown()).number") == 1
    assert tab.problems() == []


def test_a_run_in_which_nobody_is_says_so(tab, tmp_path):
    path = recorded(
        tmp_path / "run.h5", document(record={"rate": 5, "region": {"box": [20, 20, 21, 21]}}), until=5
    )
    with open_run(path) as recording:
        write_page(recording, tmp_path / "run.html")
    tab.open(tmp_path / "run.html")
    tab.drawn()
    assert text(tab, "notice") == "Nobody is in this recording." and tab.problems() == []


def test_it_says_what_an_agent_does_and_since_when_and_draws_lines(tab, tmp_path):
    """A client in line, as its machine of states says; beside a page of the same without a line to see."""
    from tests.scenes.test_queues import ONE, clients, shop

    with Simulation(shop(ONE, [clients()]), out=tmp_path / "run.h5") as run:
        run.run()
    with open_run(tmp_path / "run.h5") as recording:
        write_page(recording, tmp_path / "run.html")
        events = recording.events()
    tab.open(tmp_path / "run.html")
    first = int(events.loc[events["kind"] == "SERVED", "entity"].iloc[0])
    left = events[(events["kind"] == "STATE") & (events["entity"] == first)]["tick"].iloc[1] * 0.1
    tab.evaluate(f"(page.seek({left - 1.0}), page.select(page.crowd.arrays.agent_entity.indexOf({first})))")
    tab.drawn()
    assert f"client: buy since {left - 1.1:.0f} s" in text(tab, "agent")
    assert "is served at desk" in text(tab, "events") and "client: go (done)" in text(tab, "events")
    tab.evaluate(f"page.seek({left + 1.0})")
    tab.drawn()
    assert "client: go since 1 s" in text(tab, "agent")
    seen = dots(tab, "plan")
    tab.evaluate("(page.crowd.facts.queues.length = 0, page.dirty = true)")
    tab.drawn()
    assert dots(tab, "plan")[0] != seen[0] and tab.problems() == []
