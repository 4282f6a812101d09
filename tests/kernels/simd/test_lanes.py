"""Compiled lanes do what numpy arrays of sixteen do."""

import numpy as np
import pytest

from crowdsim.kernels.decorator import kernel
from crowdsim.kernels.simd import (
    append_set,
    bit_count,
    bits,
    choose,
    difference,
    first_bit,
    greatest,
    least,
    load,
    magnitude,
    numbers,
    plain,
    prefetch,
    root,
    spread,
    store,
    total,
)


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
    append_set(found, np.uint64(20), np.uint64(1000), mask & np.uint64(255))
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
    plain.append_set(found, 20, 1000, int(mask) & 255)
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


@pytest.mark.parametrize("byte", [0, 1, 0b10000000, 0b01010110, 255])
def test_append_set_writes_the_bits_of_a_byte(byte):
    ours, theirs = np.full(12, 77, np.uint32), np.full(12, 77, np.uint32)
    append_set(ours, np.uint64(2), np.uint64(500), np.uint64(byte))
    plain.append_set(theirs, 2, 500, byte)
    assert ours.tolist() == theirs.tolist()
    assert ours[2 : 2 + byte.bit_count()].tolist() == [500 + k for k in range(8) if byte >> k & 1]
