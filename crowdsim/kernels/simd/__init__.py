"""Sixteen numbers at once: the few vector operations that the busiest kernels need.

LLVM does not vectorise short ragged loops by itself, and crowds are made of these: ten neighbours, five
cells, a dozen half-planes. Kernels therefore say what shall be done to sixteen numbers side by side. The code
is LLVM's generic vector code, which every processor runs, with the instructions that it has; element by
element it is the same IEEE arithmetic, so the results are bit-identical everywhere. Without compilation
(``NUMBA_DISABLE_JIT=1``) numpy arrays of sixteen take the place of vectors.

Values are *lanes*: of float32, of int32, or of truth values. ``+ - * /`` work on two float32 lanes, ``+ -``
on two int32 lanes, ``< <= > >= == !=`` on two lanes of numbers, ``& |`` on two of truth values. Nothing is
converted silently.

====================================  ========================================================================
`load(array, at)`                     lanes ``array[at:at + 16]`` of a float32, int32 or uint32 array
`store(array, at, lanes)`             write them
`load_records(array, width, places,   four lanes: the first four numbers of each of the records of `width`
at)`                                  numbers that the uint32 ``places[at:at + 16]`` name
`turn(array, at, apart, target, to,   sixteen rows become columns: ``array[at + k * apart + j]`` goes to
apart_there)`                         ``target[to + j * apart_there + k]``, for k and j from 0 to 15
`difference(array, at, x)`            ``array[at:at + 16] - x`` of a float64 array, rounded to float32
                                      afterwards
`spread(x)`                           the same float32 or int32 number in each lane
`numbers()`                           0, 1, ..., 15 as int32 lanes
`choose(mask, a, b)`                  a where the mask is true, else b
`root(a)`, `magnitude(a)`             square root and absolute value of float32 lanes
`least(a)`, `greatest(a)`             of float32 lanes without nan
`total(a)`                            sum of int32 lanes
`bits(mask)`                          uint64 whose bit k tells lane k
`bit_count(u)`, `first_bit(u)`        of uint64; the first bit of 0 is undefined
`prefetch(array, at)`                 have the processor fetch what lies at the `at`-th number of an array;
                                      no effect but time
`append_lanes(array, at, mask,        write the lanes for which the mask is true from `at` on; sixteen entries
lanes)`                               are overwritten
====================================  ========================================================================

Indices are uint64. Nothing is checked: arrays must reach 16 entries beyond the last index used.
"""

import numba

if numba.config.DISABLE_JIT:
    from crowdsim.kernels.simd.plain import (
        append_lanes,
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
        prefetch,
        root,
        spread,
        store,
        total,
        turn,
    )
else:
    from crowdsim.kernels.simd.compiled import (
        append_lanes,
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
        prefetch,
        root,
        spread,
        store,
        total,
        turn,
    )

LANES = 16

__all__ = [
    "LANES",
    "append_lanes",
    "bit_count",
    "bits",
    "choose",
    "difference",
    "first_bit",
    "greatest",
    "least",
    "load",
    "load_records",
    "magnitude",
    "numbers",
    "prefetch",
    "root",
    "spread",
    "store",
    "total",
    "turn",
]
