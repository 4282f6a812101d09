"""Long work in steps: a generator that rests after each, so that its caller can
look at the clock in between.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, TypeVar

Result = TypeVar("Result")
Steps = Generator[Any, None, Result]  # what it yields says what was done last, or nothing


def at_once(steps: Steps[Result]) -> Result:
    """Do all steps, and return their result."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: Result = end.value
            return found
