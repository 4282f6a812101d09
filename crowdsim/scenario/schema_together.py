"""How a scenario says that agents of a group belong together."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from crowdsim.scenario.limits import MAX_PARTY
from crowdsim.scenario.schema_distributions import Distribution
from crowdsim.scenario.schema_geometry import Length, Shape, Unit


class TogetherShape(Shape):
    """Agents of a group form parties that keep together: families, friends, school classes."""

    size: Distribution = Field(
        description="How many agents a party has: a number or a distribution; fractions are cut off."
    )
    leader: bool = Field(
        default=False,
        description=(
            "true: the first of each party leads; the others go behind it, along its path. Default: false."
        ),
    )
    spacing: Annotated[float, Field(ge=0.3, le=10), Unit("m")] = Field(
        default=0.8,
        description="Distance between the centres of neighbours in a party, m.",
    )
    abreast: Annotated[int, Field(ge=1, le=MAX_PARTY)] = Field(
        default=4, description="How many walk side by side at most, where there is room. 1: in a line."
    )
    gap: Length = Field(
        default=3.0,
        description=(
            "How far a member may be ahead of the last one, beyond its place in the party, before it "
            "stands and waits, m."
        ),
    )
    patience: Annotated[float, Field(ge=0, le=1e9), Unit("s")] = Field(
        default=60.0,
        description="How long a member waits for the others before it goes on alone, s.",
    )
    hurry: Annotated[float, Field(ge=1, le=2)] = Field(
        default=1.3, description="Members that lag walk at most so many times as fast as they like."
    )
    slower: Annotated[float, Field(ge=0, le=0.5), Unit("m/s")] = Field(
        default=0.04,
        description=(
            "By how much a party is slower for each member beside the first, m/s, up to four members "
            "([Moussaid 2010])."
        ),
    )
