"""A made city as a scenario."""

from __future__ import annotations

import math

import numpy as np

from crowdsim.geometry.made_city import City
from crowdsim.printable import counted
from crowdsim.scenario.shapes import wkt_of

GOALS = 4  # Squares that agents walk to.
WALKING_M_S = 0.7  # A slow pace: how long a run may last follows from the size of the city.


def city_files(name: str, city: City, people: int, seed: int) -> dict[str, str]:
    """Return a scenario of a city, and its ground beside it, by the names of the files.

    Parameters
    ----------
    name : str
    city : City
    people : int
        Agents at random places, each with one of a few squares as its goal.
    seed : int
        Of the run.
    """
    size = city.ground.bounds[2]
    rng = np.random.default_rng(seed)
    squares = rng.permutation(len(city.squares))[:GOALS].tolist()
    goals = {f"square-{number}": city.squares[each] for number, each in enumerate(squares, start=1)}
    shares = ", ".join(f"{goal}: 1" for goal in goals)
    points = "\n".join(
        f"  {goal}: {{point: [{x:g}, {y:g}], arrive_within: 5}}" for goal, (x, y) in goals.items()
    )
    text = f"""\
# A made city of {size:g} x {size:g} m with {counted(len(city.ground.interiors), "house")}: "crowdsim city".
# Change this file as you like.
version: 1
seed: {seed}

stop:                         # whichever comes first
  after: {math.ceil(2.0 * size / WALKING_M_S)}                  # s
  when: all_arrived

geometry:
  walkable: {{wkt_file: {name}-ground.wkt}}

goals:
{points}

groups:
  - name: people
    count: {people}
    region: {{box: [0, 0, {size:g}, {size:g}]}}
    goals: {{shares: {{{shares}}}}}
    radius: {{uniform: {{low: 0.18, high: 0.22}}}}

record:
  rate: 1
"""
    return {f"{name}.yaml": text, f"{name}-ground.wkt": wkt_of(city.ground) + "\n"}
