"""The picture of a budget: nothing that stands out is lost when ticks are put together,
and a file comes out.
"""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from crowdsim.pictures.budget import draw_budget, longest_ticks
from crowdsim.recording.opening import open_run
from tests.crowds import BUSY, simulation


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=80), st.integers(1, 40))
def test_each_column_is_the_longest_of_its_ticks_and_the_worst_tick_is_shown(total, columns):
    total = np.array(total)
    shown = longest_ticks(total, columns)
    assert len(shown) == min(len(total), columns) and (np.diff(shown) > 0).all()
    assert total[shown].max() == total.max()
    if len(total) <= columns:
        assert shown.tolist() == list(range(len(total)))


def test_a_run_is_drawn_with_and_without_a_budget(tmp_path):
    out = tmp_path / "a.h5"
    with simulation(BUSY, out=out) as run:
        for _ in range(12):
            run.step()
    sizes = []
    with open_run(out) as recording:
        for place, milliseconds in enumerate((None, 5.0)):
            target = tmp_path / f"{place}.png"
            draw_budget(recording, target, milliseconds, dpi=40)
            assert target.read_bytes()[:4] == b"\x89PNG"
            sizes.append(target.read_bytes())
    assert sizes[0] != sizes[1]  # the line
