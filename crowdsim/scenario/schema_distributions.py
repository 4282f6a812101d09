"""How a scenario writes numbers that differ from agent to agent."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, Tag

from crowdsim.scenario.schema_geometry import Shape, by_form, is_number, key_form


class Uniform(Shape):
    """Every value between two bounds is equally likely."""

    low: float = Field(description="Least value.")
    high: float = Field(description="Greatest value.")


class Normal(Shape):
    """The bell curve, cut off: values outside low..high are drawn again."""

    mean: float = Field(description="Mean before the cut-off.")
    sd: Annotated[float, Field(gt=0)] = Field(description="Standard deviation before the cut-off.")
    low: float | None = Field(default=None, description="Least value. Default: mean - 3 sd.")
    high: float | None = Field(default=None, description="Greatest value. Default: mean + 3 sd.")


class LogNormal(Shape):
    """A value whose natural logarithm is normal, cut off: values outside low..high are drawn again."""

    mu: Annotated[float, Field(ge=-50, le=50)] = Field(
        description="Mean of the logarithm; exp(mu) is the median."
    )
    sigma: Annotated[float, Field(gt=0, le=10)] = Field(description="Standard deviation of the logarithm.")
    low: Annotated[float | None, Field(ge=0)] = Field(
        default=None, description="Least value. Default: the value at mu - 3 sigma."
    )
    high: Annotated[float | None, Field(gt=0)] = Field(
        default=None, description="Greatest value. Default: the value at mu + 3 sigma."
    )


class Choice(Shape):
    """One of a list of values."""

    values: Annotated[list[float], Field(min_length=1, max_length=10_000)] = Field(description="The values.")
    weights: Annotated[list[Annotated[float, Field(ge=0)]], Field(min_length=1, max_length=10_000)] | None = (
        Field(default=None, description="How often each comes, in any unit. Default: all equally often.")
    )


class Exponential(Shape):
    """The time between two of what happens at random, cut off: values outside low..high are drawn again."""

    mean: Annotated[float, Field(gt=0, le=1e9)] = Field(description="Mean before the cut-off.")
    low: Annotated[float | None, Field(ge=0)] = Field(default=None, description="Least value. Default: 0.")
    high: Annotated[float | None, Field(gt=0)] = Field(
        default=None, description="Greatest value. Default: 20 times the mean."
    )


class UniformForm(Shape):
    """A uniform distribution."""

    uniform: Uniform


class NormalForm(Shape):
    """A normal distribution."""

    normal: Normal


class LogNormalForm(Shape):
    """A log-normal distribution."""

    lognormal: LogNormal


class ExponentialForm(Shape):
    """An exponential distribution."""

    exponential: Exponential


class ChoiceForm(Shape):
    """One of a list of values."""

    choice: Choice


DISTRIBUTION_KEYS = ("uniform", "normal", "lognormal", "exponential", "choice")
Distribution = Annotated[
    Annotated[float, Tag("~number")]
    | Annotated[UniformForm, Tag("~uniform")]
    | Annotated[NormalForm, Tag("~normal")]
    | Annotated[LogNormalForm, Tag("~lognormal")]
    | Annotated[ExponentialForm, Tag("~exponential")]
    | Annotated[ChoiceForm, Tag("~choice")],
    by_form(
        lambda value: "~number" if is_number(value) else key_form(value, *DISTRIBUTION_KEYS),
        "a number or a distribution {uniform: ...}, {normal: ...}, {lognormal: ...}, {exponential: ...} or "
        "{choice: ...}",
    ),
]
