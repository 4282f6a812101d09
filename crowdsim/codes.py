"""Whole numbers with names, as arrays hold them."""

from enum import IntEnum

import numpy as np


class Code(IntEnum):
    """A number with a name that arrays are compared with.

    numpy asks the class of what it compares an array with for `__array_ufunc__`, twice. An enum of Python 3.11 runs code of its own to say that it has none:
    a comparison took three times as long, and a tick makes dozens. What it finds here is its own, which stands for nothing special.
    """

    __array_ufunc__ = np.ndarray.__array_ufunc__
