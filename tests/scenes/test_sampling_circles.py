"""People on a circle who change places, under the sampling models:
all arrive, and bodies are not squeezed.
"""

import pytest

from tests.crowds import on_circle, room, simulation

# people: (radius of the circle, greatest multiple of the ideal time). Without limit on time beyond 40: there
# is a jam, and it must resolve.
LIMITS = {2: (5.0, 1.3), 8: (5.0, 1.6), 16: (5.0, 2.0), 24: (5.0, 2.2), 40: (10.0, 2.5), 80: (10.0, 6.0)}


def check_circle(model, count, noise, seed):
    radius, limit = LIMITS[count]
    scene = room(on_circle(count, radius=radius, noise=noise, seed=seed), size=2.0 * radius + 10.0, after=120)
    with simulation(scene, sets=[f"avoidance={model}"]) as run:
        verdict = run.run()
    assert verdict.arrived == count, verdict.left
    assert verdict.last_arrival_s <= limit * 2.0 * radius / 1.34
    assert verdict.deepest_overlap_m <= 0.05
    return verdict.last_arrival_s / (2.0 * radius / 1.34), verdict.deepest_overlap_m


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["sampled-hrvo", "toi"])
@pytest.mark.parametrize("count", LIMITS)
def test_people_on_a_circle_change_places(model, count):
    check_circle(model, count, 0.05, 1)


@pytest.mark.sample(1)
@pytest.mark.parametrize("model", ["sampled-hrvo", "toi"])
@pytest.mark.parametrize("count", [2, 8, 16, 24])
def test_people_on_an_exact_circle_change_places(model, count):
    check_circle(model, count, 0.0, 0)


@pytest.mark.full
@pytest.mark.parametrize("model", ["sampled-hrvo", "toi"])
@pytest.mark.parametrize("count", LIMITS)
def test_people_on_a_circle_change_places_whatever_the_noise(model, count):
    found = [check_circle(model, count, 0.05, seed) for seed in range(10)]
    times, overlaps = zip(*found, strict=True)
    span, overlap = f"{min(times):.2f} to {max(times):.2f}", 100 * max(overlaps)
    print(f"{model} {count}: {span} of the ideal time, overlap {overlap:.1f} cm")  # noqa: T201  (-s shows it)
