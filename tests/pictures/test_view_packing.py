"""Packed arrays come back as they were, and a page is thinned no more than it has to be."""

import zlib
from unittest import mock

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from crowdsim.errors import RecordingError
from crowdsim.pictures.view import moves
from crowdsim.pictures.view.moves import (
    LIMIT,
    STEP_M,
    Packer,
    Thinning,
    deflated,
    in_steps,
    kept_frames,
    stretches,
)
from tests.reference.view_packing import unpack

NUMBERS = st.lists(st.integers(-(2**43), 2**43), max_size=12)


def packed(rows, order, lengths):
    packer = Packer()
    starts = (
        np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        if lengths
        else np.zeros(0, dtype=np.int64)
    )
    packer.add("stretch_length", np.array(lengths, dtype=np.int64))
    packer.add("row_x", np.array(rows, dtype=np.int64), order, starts)
    return packer.pack({"name": "</script>"})


@given(
    pieces=st.lists(NUMBERS.filter(bool), max_size=4), order=st.integers(0, 2), at_a_time=st.integers(1, 9)
)
def test_numbers_come_back_whatever_they_are(pieces, order, at_a_time):
    rows = [number for piece in pieces for number in piece]
    whole = packed(rows, order, [len(piece) for piece in pieces])
    with mock.patch.object(moves, "BLOCK_ROWS", at_a_time):
        assert packed(rows, order, [len(piece) for piece in pieces]) == whole
    facts, arrays = unpack(whole)
    assert facts == {"name": "</script>"}
    assert arrays["row_x"] == rows


def test_parts_of_all_kinds_are_one_stream_of_zlib_and_hardly_larger_than_at_the_highest_level():
    random = np.random.default_rng(1)
    walks = np.abs(np.rint(random.normal(0.0, 12.0, 300_000))).astype(np.uint8).tobytes()
    waits = np.repeat(random.integers(0, 4, 60), 5_000).astype(np.uint8).tobytes()
    words = b"".join(b"north %d;" % number for number in range(20_000))
    parts = [walks, waits, b"", words, b"x", walks[:100_000] + words]
    stream = deflated(parts)
    assert zlib.decompress(stream) == b"".join(parts)
    assert len(stream) < 1.05 * len(zlib.compress(b"".join(parts), 9))


def test_even_motion_is_a_byte_at_most():
    rows = [1000 + 26 * k for k in range(200)]
    assert len(packed(rows, 2, [200])) < len(packed(rows, 0, [200])) - 100


def test_a_number_that_does_not_fit_is_refused():
    with pytest.raises(
        RecordingError, match=r"numbers up to 70,368,744,177,664 where no run has them \(far\)"
    ):
        Packer().add("far", np.array([LIMIT]))


def test_places_are_kept_to_half_a_step_and_what_is_no_number_is_zero():
    places = np.linspace(-7.3, 900.1, 1000)
    assert np.abs(in_steps(places, -7.3) * STEP_M - 7.3 - places).max() <= 0.5 * STEP_M + 1e-9
    assert in_steps(np.array([np.nan, np.inf]), 1.0).tolist() == [0, 0]


def test_stretches_begin_where_another_or_a_gap_begins():
    agent, frame = np.array([0, 0, 0, 1, 1, 2]), np.array([3, 4, 6, 7, 8, 9])
    assert stretches(agent, frame).tolist() == [0, 2, 3, 5]
    assert stretches(agent[:0], frame[:0]).tolist() == []


def test_the_last_frame_is_always_kept():
    assert kept_frames(10, 3).tolist() == [0, 3, 6, 9]
    assert kept_frames(11, 3).tolist() == [0, 3, 6, 9, 10]
    assert kept_frames(0, 3).tolist() == []


def test_frames_are_thinned_to_one_a_second_and_then_agents():
    assert Thinning().coarser(1.9, 0.1) == Thinning(2, 1)
    assert Thinning().coarser(25.0, 0.1) == Thinning(10, 3)
    assert Thinning(10, 3).coarser(2.0, 0.1) == Thinning(10, 6)
    assert Thinning().coarser(3.0, 2.0) == Thinning(1, 3)  # frames that are two seconds apart already


@given(
    step=st.integers(1, 40),
    agents=st.integers(1, 40),
    factor=st.floats(0.5, 50.0),
    frame_s=st.floats(0.01, 3.0),
)
def test_coarser_is_coarser(step, agents, factor, frame_s):
    thinner = Thinning(step, agents).coarser(factor, frame_s)
    assert thinner.frame_step * thinner.agent_step > step * agents
    assert thinner.frame_step >= step and thinner.agent_step >= agents
