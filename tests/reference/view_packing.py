"""Naive twin of `crowdsim.pictures.view.moves`:
unpacks what `Packer.pack` made, number by number, from the words of its docstring.
"""

import json
import zlib


def unpack(packed):
    """Return the facts, and the arrays as lists."""
    data = zlib.decompress(packed)
    length = int.from_bytes(data[:4], "little")
    head, body = json.loads(data[4 : 4 + length]), data[4 + length :]
    lengths = plain(body, head["arrays"]["stretch_length"])
    arrays = {}
    for name, entry in head["arrays"].items():
        numbers = plain(body, entry)
        arrays[name] = summed(numbers, entry[3], lengths if name.startswith("row_") else [len(numbers)])
    return head["facts"], arrays


def plain(body, entry):
    """Return the numbers of an array as they stand there."""
    offset, count, planes, _ = entry
    found = []
    for i in range(count):
        folded = sum(body[offset + k * count + i] * 256**k for k in range(planes))
        found.append(-(folded + 1) // 2 if folded % 2 else folded // 2)
    return found


def summed(numbers, order, lengths):
    """Return the numbers that differences were taken of."""
    if order == 0:
        return numbers
    found, rest = [], iter(numbers)
    for length in lengths:
        value = change = 0
        for k in range(length):
            number = next(rest)
            if order == 1 or k == 0:
                value += number
            else:
                change += number
                value += change
            found.append(value)
    return found
