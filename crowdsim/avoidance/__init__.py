"""Which velocity is safe? Avoidance models:
each sees the crowd as it is and chooses a velocity for every agent, with a diagnosis.

In: a `model.CrowdView` of agents, their preferred velocities, walls and a neighbour index. Out: a
`model.Choice`.

A family of models a package: `orca`, `velocity_obstacles`, `sampling`; `none` avoids nothing. On top: `model`
(what a model is), `registry` (models by name), `plugins` (models of users) and `guard` (which holds them to
what they promise), `neighbour_model` and `neighbours` (what a model sees), `explain` (what stood behind a
choice), `symmetry` (what no reciprocal model can leave by itself), `density_speed` (the speed that agents
like in a crowd).
"""

from __future__ import annotations

from crowdsim.avoidance.registry import models_come_from


def _own_models() -> dict[str, str]:
    from crowdsim.avoidance import none  # noqa: F401  (importing a model registers it)
    from crowdsim.avoidance.orca import orca  # noqa: F401
    from crowdsim.avoidance.sampling import sampled, toi  # noqa: F401
    from crowdsim.avoidance.velocity_obstacles import clearpath, hrvo  # noqa: F401

    return {}


def _installed_models() -> dict[str, str]:
    from crowdsim.avoidance.plugins import load_installed

    return load_installed()


models_come_from(_own_models)
models_come_from(_installed_models)
