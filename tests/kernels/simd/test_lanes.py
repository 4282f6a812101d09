"""Compiled lanes do what numpy arrays of sixteen do."""

import numpy as np
import pytest
from llvmlite import binding

from crowdsim.kernels.decorator import kernel, made_for
from crowdsim.kernels.simd import (
    bit_count,
    bits,
    choose,
    difference,
    first_bit,
    greatest,
    least,
    load,
    load_records,
    magnitude,
    numbers,
    plain,
    prefetch,
    root,
    spread,
    store,
    total,
    turn,
)
from crowdsim.kernels.simd import compiled as compiled_lanes


@kernel
def compiled(a, b, far, whole, x, out, found, sums):
    prefetch(far, np.uint64(7))
    one, two = load(a, np.uint64(3)), load(b, np.uint64(5))
    store(out, np.uint64(0), one + two)
    store(out, np.uint64(16), one - two)
    store(out, np.uint64(32), one * two)
    store(out, np.uint64(48), one / two)
    store(out, np.uint64(64), root(magnitude(one)))
    store(out, np.uint64(80), choose((one < two) & (two <= spread(np.float32(0.5))) | (one == two), one, two))
    store(out, np.uint64(96), difference(far, np.uint64(2), x))
    store(
        out,
        np.uint64(112),
        choose((one > two) & (numbers() >= spread(np.int32(4))), one, spread(np.float32(9.0))),
    )
    store(found, np.uint64(0), load(whole, np.uint64(1)) + numbers() - spread(np.int32(7)))
    mask = bits((one > two) & (numbers() != spread(np.int32(3))))
    sums[0], sums[1], sums[2], sums[3] = mask, bit_count(mask), first_bit(mask), np.uint64(total(numbers()))
    return least(one), greatest(one)


def as_plain(a, b, far, whole, x, out, found, sums):
    one, two = plain.load(a, 3), plain.load(b, 5)
    with np.errstate(all="ignore"):
        for at, lanes in enumerate(
            (one + two, one - two, one * two, one / two, plain.root(plain.magnitude(one)))
        ):
            plain.store(out, 16 * at, lanes)
    plain.store(
        out, 80, plain.choose((one < two) & (two <= plain.spread(np.float32(0.5))) | (one == two), one, two)
    )
    plain.store(out, 96, plain.difference(far, 2, x))
    plain.store(
        out,
        112,
        plain.choose(
            (one > two) & (plain.numbers() >= plain.spread(np.int32(4))), one, plain.spread(np.float32(9.0))
        ),
    )
    plain.store(found, 0, plain.load(whole, 1) + plain.numbers() - plain.spread(np.int32(7)))
    mask = plain.bits((one > two) & (plain.numbers() != plain.spread(np.int32(3))))
    sums[:4] = mask, plain.bit_count(mask), plain.first_bit(mask), plain.total(plain.numbers())
    return plain.least(one), plain.greatest(one)


@pytest.mark.parametrize("seed", range(20))
def test_compiled_lanes_agree_with_plain_ones_bit_for_bit(seed):
    rng = np.random.default_rng(seed)
    a, b = (
        rng.normal(size=40).astype(np.float32),
        rng.choice([-1.5, 0.0, -0.0, 0.25, 1e30], 40).astype(np.float32),
    )
    far, whole = rng.uniform(5e6, 5e6 + 10.0, 40), rng.integers(0, 100, 40).astype(np.int32)
    results = []
    for function in (compiled, as_plain):
        out, found, sums = np.zeros(128, np.float32), np.zeros(40, np.uint32), np.zeros(4, np.uint64)
        ends = function(a, b, far, whole, 5e6 + 3.3, out, found, sums)
        results.append((out.view(np.uint32), found, sums, np.array(ends, dtype=np.float32)))
    for mine, theirs in zip(*results, strict=True):
        assert np.array_equal(mine, theirs) or np.array_equal(
            mine.view(np.float32), theirs.view(np.float32), equal_nan=True
        )


def test_the_least_of_two_zeros_is_the_one_that_comparison_leaves():
    @kernel
    def fold(a):
        return least(load(a, np.uint64(0))), greatest(load(a, np.uint64(0)))

    for place in range(16):
        a = np.zeros(16, np.float32)
        a[place] = -0.0
        ours, theirs = fold(a), (plain.least(a), plain.greatest(a))
        assert [np.signbit(value) for value in ours] == [np.signbit(value) for value in theirs]


MASKS = [0, 1, 1 << 15, 0b0101_0110_1000_0001, 255, 255 << 8, 2**16 - 1]


@pytest.mark.parametrize("kind", [np.float32, np.uint32])
@pytest.mark.parametrize("name", ["append_lanes", "append_halves", "append_compressed"])
def test_lanes_of_a_mask_are_appended_in_their_order_by_either_form(name, kind):
    append = getattr(compiled_lanes, name)

    @kernel
    def append_where(array, at, truths, lanes):
        append(array, at, load(truths, np.uint64(0)) > spread(np.int32(0)), load(lanes, np.uint64(0)))

    lanes = np.arange(100, 116).astype(kind)
    for mask in MASKS:
        truths = np.array([mask >> k & 1 for k in range(16)], dtype=np.int32)
        ours, theirs = np.full(40, 77, kind), np.full(40, 77, kind)
        append_where(ours, np.uint64(5), truths, lanes)
        plain.append_lanes(theirs, 5, truths > 0, plain.load(lanes, 0))
        count = int(truths.sum())
        assert ours[: 5 + count].tolist() == theirs[: 5 + count].tolist(), bin(mask)
        assert ours[5 : 5 + count].tolist() == lanes[truths > 0].tolist()
        assert (ours[:5] == 77).all() and (ours[5 + 16 :] == 77).all(), "no more than sixteen are overwritten"


@pytest.mark.parametrize("width", [4, 6])
def test_records_are_laid_out_by_their_numbers(width):
    @kernel
    def lay_out(array, width, places, at, out):
        one, two, three, four = load_records(array, width, places, at)
        store(out, np.uint64(0), one)
        store(out, np.uint64(16), two)
        store(out, np.uint64(32), three)
        store(out, np.uint64(48), four)

    rng = np.random.default_rng(width)
    array, places = rng.normal(size=30 * width).astype(np.float32), rng.integers(0, 30, 20).astype(np.uint32)
    out = np.empty(64, np.float32)
    lay_out(array, np.uint64(width), places, np.uint64(3), out)
    assert np.array_equal(out.reshape(4, 16), np.stack(plain.load_records(array, width, places, 3)))
    assert np.array_equal(out.reshape(4, 16), array.reshape(-1, width)[places[3:19], :4].T)


@pytest.mark.parametrize(("apart", "apart_there"), [(16, 16), (21, 48), (40, 17)])
def test_sixteen_rows_become_columns(apart, apart_there):
    @kernel
    def turn_rows(array, at, apart, target, to, apart_there):
        turn(array, at, apart, target, to, apart_there)

    array = np.arange(700, dtype=np.float32)
    ours, theirs = np.full(900, -1.0, np.float32), np.full(900, -1.0, np.float32)
    turn_rows(array, np.uint64(3), np.uint64(apart), ours, np.uint64(5), np.uint64(apart_there))
    plain.turn(array, 3, apart, theirs, 5, apart_there)
    assert np.array_equal(ours, theirs)
    assert all(
        ours[5 + j * apart_there + k] == array[3 + k * apart + j] for j in range(16) for k in range(16)
    )
    assert (ours >= 0.0).sum() == 256


def test_code_is_made_for_the_processor_that_is_asked_for(monkeypatch):
    monkeypatch.setattr("numba.config.CPU_NAME", "x86-64-v3")
    monkeypatch.setattr("numba.config.CPU_FEATURES", None)
    assert not made_for("avx512f"), "a name of its own, whose features are not known"
    monkeypatch.setattr("numba.config.CPU_FEATURES", "+avx2,-avx512f,+avx512vl")
    assert made_for("avx2") and made_for("avx512vl") and not made_for("avx512f")
    monkeypatch.setattr("numba.config.CPU_NAME", None)
    monkeypatch.setattr("numba.config.CPU_FEATURES", None)
    assert made_for("sse2") == bool(binding.get_host_cpu_features().get("sse2", False))
