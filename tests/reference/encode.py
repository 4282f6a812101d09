"""Naive twins of crowdsim.recording.encode."""

from __future__ import annotations


def shuffle_words(data: bytes, item_bytes: int) -> bytes:
    """Twin of `shuffle_words` (and `shuffle`): all first bytes of the elements, then all second bytes, and so on (HDF5's shuffle filter)."""
    return b"".join(bytes(data[byte::item_bytes]) for byte in range(item_bytes))
