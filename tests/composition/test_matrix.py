"""Features compose: each combination runs, verified and resumed, or is refused for a declared reason."""

import pytest

from crowdsim.errors import ScenarioError
from tests.composition.cells import (
    REFUSALS,
    covering,
    digest_of,
    expected_refusals,
    holding_each_feature,
    require_that_it_runs,
)
from tests.composition.features import AXES, document, drawn, features, pairs, plain, ticks_of
from tests.composition.page import HEADING, PAGE, table

# What says the same as silence in these worlds; and what is seen only where paths are searched for anew.
SAME_AS_SILENCE = {("planner", "mesh"), ("planner", "optimal"), ("waiting", "previous"), ("waiting", "stay")}
# And beside what: on several floors paths are those of `mesh` anyhow, and these agents walk on a level one.
# Agents with machines ask for paths one by one, and those that go to a passage for short ones: no planner
# waits for the work of another, and both find the same ones.
SAME_TOGETHER = [
    {("groups", "with a planner of their own"), beside}
    for beside in (
        ("ground", "storeys"),
        ("ground", "surface"),
        ("ground", "soup"),
        ("ground", "soup with parts"),
        ("behaviour", "machines"),
        ("connections", "a passage"),
        ("connections", "a drop"),
        ("connections", "a jump"),
        ("connections", "a waypath"),
    )
]


def name_of(choices):
    return ", ".join(f"{axis} {choice}" for axis, choice in choices.items() if choice != AXES[axis][0])


def check(choices, **more):
    """Run a combination, or see it refused; return the digest, None where it is refused."""
    refusals = expected_refusals(choices)
    if not refusals:
        return require_that_it_runs(choices, **more)
    with pytest.raises(ScenarioError) as refused:
        digest_of(choices)
    assert any(each.says in str(refused.value) for each in refusals), str(refused.value)
    return None


# Of two hundred seeds one whose combinations have few ticks, and in which agents come to what is looked at.
COVERING, DRAWN = covering(seed=12), drawn(2000, seed=2)
BY_DEFAULT = 4  # of those drawn are run
# Of those that are run by default, these are verified and resumed as well: of those that hold each pair so
# many that they have each feature.
COVERING_AGAIN, AGAIN_EVERY = holding_each_feature(COVERING), 6
# By default all have shown by then what is looked at; longer runs are those of `full`.
MOST_TICKS = 160


@pytest.mark.parametrize("number", range(len(COVERING)), ids=lambda number: name_of(COVERING[number]))
def test_a_combination_of_those_that_hold_each_pair_runs(number):
    again = number in COVERING_AGAIN
    assert check(COVERING[number], again=again, most_ticks=MOST_TICKS) is not None


@pytest.mark.parametrize("number", range(BY_DEFAULT), ids=lambda number: name_of(DRAWN[number]))
def test_any_combination_runs_or_is_refused_for_a_declared_reason(number):
    check(DRAWN[number], again=number % AGAIN_EVERY == 0)


@pytest.mark.full
@pytest.mark.parametrize(
    "choices",
    [
        *(
            each
            for number, each in enumerate(COVERING)
            if number not in COVERING_AGAIN or ticks_of(each) > MOST_TICKS
        ),
        *(each for number, each in enumerate(DRAWN) if number >= BY_DEFAULT or number % AGAIN_EVERY),
    ],
    ids=name_of,
)
def test_any_combination_is_verified_and_resumed(choices):
    check(choices)


@pytest.mark.parametrize("number", range(len(REFUSALS)))
def test_what_is_declared_to_be_refused_is_refused_with_that_reason(number):
    refusal = REFUSALS[number]
    axes = list(refusal.features)
    for place, axis in enumerate(axes):
        for choice in refusal.features[axis]:
            others = {each: refusal.features[each][0] for each in axes[:place] + axes[place + 1 :]}
            choices = plain() | others | {axis: choice}
            with pytest.raises(ScenarioError, match=r"(?s).+") as refused:
                digest_of(choices)
            assert refusal.says in str(refused.value)


@pytest.mark.full
@pytest.mark.parametrize(
    "pair",
    [pair for pair in pairs() if not SAME_AS_SILENCE & set(pair) and set(pair) not in SAME_TOGETHER],
    ids=lambda pair: name_of(dict(pair)),
)
def test_neither_of_two_features_does_nothing_beside_the_other(pair):
    if (together := check(plain() | dict(pair))) is None:
        return
    for axis, choice in pair:
        alone = plain() | {axis: choice}
        # watchers alone take the planner that has them: there is one scenario for both
        if not expected_refusals(alone) and document(alone) != document(plain() | dict(pair)):
            assert digest_of(alone) != together


def test_each_pair_that_can_be_combined_is_in_a_combination_that_is_run():
    run = [set(each.items()) for each in COVERING]
    for pair in pairs():
        if not expected_refusals(plain() | dict(pair)):
            assert any(set(pair) <= each for each in run), pair


def test_each_feature_is_in_a_combination_that_is_verified_and_resumed():
    again = {feature for number in COVERING_AGAIN for feature in COVERING[number].items()}
    assert again >= set(features())


def test_the_table_of_the_guide_is_made_by_these_tests():
    assert PAGE.read_text(encoding="utf-8").partition(HEADING)[2] == table().partition(HEADING)[2]
    assert {axis for axis, _ in features()} == set(AXES)
