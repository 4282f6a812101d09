"""Designs: which combinations there are, and what is wrong with one."""

import itertools

import numpy as np
import pytest

from crowdsim.errors import CrowdsimError
from crowdsim.sweep.design import (
    Range,
    crossed,
    latin_hypercube,
    multiplied,
    seeds_of,
    side_by_side,
    sobol,
    table_rows,
    varied_values,
)


def test_values_of_several_keys_are_crossed_and_the_last_key_varies_fastest():
    points = crossed(varied_values(["a=1,2", "b=x,y,z"]))
    assert [(point["a"], point["b"]) for point in points] == list(itertools.product("12", "xyz"))


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("k=[1, 2],[3, 4]", ["[1, 2]", "[3, 4]"]),
        ("k={normal: {mean: 1, sd: 0.1}},1.2", ["{normal: {mean: 1, sd: 0.1}}", "1.2"]),
        ('k="a,b",c', ['"a,b"', "c"]),
        ("k=a=b", ["a=b"]),
    ],
)
def test_a_comma_inside_brackets_or_quotes_belongs_to_the_value(option, values):
    assert varied_values([option]) == {"k": values}


@pytest.mark.parametrize("option", ["count", "count=", "=1,2", "count=1,,2", "count=1,"])
def test_a_vary_option_of_another_form_is_refused_with_an_example(option):
    with pytest.raises(CrowdsimError, match=r"expects key=value,value,... For example"):
        varied_values([option])


def test_a_key_that_is_varied_twice_is_refused():
    with pytest.raises(CrowdsimError, match="--vary a=1,2,3"):
        varied_values(["a=1,2", "a=3"])
    with pytest.raises(CrowdsimError, match='"a" is varied twice'):
        multiplied([[{"a": "1"}], [{"a": "2"}]])


def test_zipped_values_stand_side_by_side_and_need_equal_counts():
    assert side_by_side({"a": ["1", "2"], "b": ["x", "y"]}) == [{"a": "1", "b": "x"}, {"a": "2", "b": "y"}]
    with pytest.raises(CrowdsimError, match="a has 1, b has 2"):
        side_by_side({"a": ["1"], "b": ["x", "y"]})


def test_no_design_is_one_combination_that_changes_nothing():
    assert multiplied([]) == [{}]


def test_too_many_combinations_are_refused_before_they_are_made():
    with pytest.raises(CrowdsimError, match="1,000,000,000,000 combinations"):
        crossed({key: [str(value) for value in range(1000)] for key in "abcd"})


@pytest.mark.parametrize(
    ("text", "seeds"),
    [
        ("0:4", [0, 1, 2, 3]),
        ("7", [7]),
        ("1,5,7", [1, 5, 7]),
        ("0:10:5", [0, 5]),
        ("3,0:2,1", [3, 0, 1]),
        ("2:3", [2]),
    ],
)
def test_seeds_are_ranges_without_their_end_and_single_numbers_each_once(text, seeds):
    assert seeds_of(text) == seeds


@pytest.mark.parametrize("text", ["", "x", "5:5", "9:3", "0:10:0", "-1", "1;2", "0:9999999999"])
def test_seeds_of_another_form_are_refused(text):
    with pytest.raises(CrowdsimError, match="0:10, which is 0 to 9"):
        seeds_of(text)


RANGES = {"a": Range(1.0, 5.0), "b": Range(10.0, 1000.0, logarithmic=True), "c": Range(3, 6, whole=True)}


@pytest.mark.parametrize("seed", range(5))
def test_a_latin_hypercube_has_one_sample_in_each_part_of_every_range(seed):
    points = latin_hypercube(RANGES, 12, seed)
    shares = {
        "a": [(float(point["a"]) - 1.0) / 4.0 for point in points],
        "b": [np.log(float(point["b"]) / 10.0) / np.log(100.0) for point in points],
    }
    for share in shares.values():
        assert sorted(int(each * 12) for each in share) == list(range(12))
    assert sorted(point["c"] for point in points) == sorted(["3", "4", "5", "6"] * 3)


def test_a_latin_hypercube_is_the_same_each_time_and_another_with_another_seed():
    assert latin_hypercube(RANGES, 5, 1) == latin_hypercube(RANGES, 5, 1) != latin_hypercube(RANGES, 5, 2)


def test_sobol_samples_fill_every_half_of_every_range_and_come_in_powers_of_two():
    pytest.importorskip("scipy")
    points = sobol(RANGES, 16, 3)
    assert sum(float(point["a"]) < 3.0 for point in points) == 8
    assert sum(float(point["b"]) < 100.0 for point in points) == 8
    with pytest.raises(CrowdsimError, match="take 16 or 32 samples instead of 20"):
        sobol(RANGES, 20, 3)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (Range(2.0, 1.0), "low must be below high"),
        (Range(0.5, 3.0, whole=True), "between whole numbers"),
        (Range(0.0, 1.0, logarithmic=True), "range above 0"),
        (Range(1.0, 9.0, whole=True, logarithmic=True), "decades"),
    ],
)
def test_a_range_that_makes_no_sense_is_told(wrong, message):
    assert message in wrong.complaint()


def test_rows_of_a_table_are_combinations_and_an_empty_cell_leaves_the_value_as_it_is():
    assert table_rows('a,b\n1,"[1, 2]"\n\n2,\n', "t.csv") == [{"a": "1", "b": "[1, 2]"}, {"a": "2"}]
    for text, message in [
        ("a,b\n", "here there are 1 rows"),
        ("a,a\n1,2\n", "names each key once"),
        ("a,b\n1\n", "row 1 of values has 1 cells"),
    ]:
        with pytest.raises(CrowdsimError, match=message):
            table_rows(text, "t.csv")
