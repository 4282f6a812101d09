"""Naive twins of the kernels of crowdsim.recording.digest, in plain integers
from the xxHash specification.
"""

from __future__ import annotations

import struct

MASK = (1 << 64) - 1
P1, P2, P3, P4, P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


def rotate_left(value: int, bits: int) -> int:
    return (value << bits | value >> (64 - bits)) & MASK


def mix(accumulator: int, lane: int) -> int:
    return rotate_left((accumulator + lane * P2) & MASK, 31) * P1 & MASK


def avalanche(value: int) -> int:
    value = (value ^ value >> 33) * P2 & MASK
    value = (value ^ value >> 29) * P3 & MASK
    return value ^ value >> 32


def xxh64(data: bytes, seed: int = 0) -> int:
    """Twin of `xxh64`: the steps of the specification, one after the other."""
    rest = data
    if len(data) >= 32:
        lanes = [(seed + P1 + P2) & MASK, (seed + P2) & MASK, seed, (seed - P1) & MASK]
        while len(rest) >= 32:
            lanes = [mix(lane, word) for lane, word in zip(lanes, struct.unpack("<4Q", rest[:32]))]
            rest = rest[32:]
        value = sum(rotate_left(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18))) & MASK
        for lane in lanes:
            value = ((value ^ mix(0, lane)) * P1 + P4) & MASK
    else:
        value = (seed + P5) & MASK
    value = (value + len(data)) & MASK
    while len(rest) >= 8:
        value = (rotate_left(value ^ mix(0, struct.unpack("<Q", rest[:8])[0]), 27) * P1 + P4) & MASK
        rest = rest[8:]
    if len(rest) >= 4:
        value = (rotate_left(value ^ struct.unpack("<I", rest[:4])[0] * P1 & MASK, 23) * P2 + P3) & MASK
        rest = rest[4:]
    for byte in rest:
        value = rotate_left(value ^ byte * P5 & MASK, 11) * P1 & MASK
    return avalanche(value)


def block_xxh64(data: bytes, block_bytes: int, seed: int) -> list[int]:
    """Twin of `block_xxh64`."""
    return [xxh64(data[at : at + block_bytes], seed) for at in range(0, len(data), block_bytes)]


def fold_digests(rows: list[list[int]], start: int = 0) -> int:
    """Twin of `fold_digests`."""
    value = start
    for row in rows:
        for digest in row:
            value = (rotate_left(value ^ mix(0, digest), 27) * P1 + P4) & MASK
        value = avalanche(value)
    return value


def digest_each(arrays: list[bytes], seeds: list[int]) -> list[int]:
    """One digest for each array."""
    return [xxh64(data, seed) for data, seed in zip(arrays, seeds, strict=True)]
