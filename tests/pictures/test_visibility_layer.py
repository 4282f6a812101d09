"""The picture of a points-of-visibility graph shows the tangents that a body can use."""

import numpy as np
import pytest
import shapely

from crowdsim.navigation.mesh.build import build_mesh
from crowdsim.navigation.visibility.graph import build_graph
from crowdsim.pictures.run import new_figure
from crowdsim.pictures.scenario import draw_visibility, tangents_of

GROUND = shapely.box(0, 0, 14, 14) - shapely.box(2, 2, 6, 6) - shapely.box(8, 8, 12, 12)


def test_tangents_are_those_of_the_radius_and_keep_it_from_walls():
    graph, _ = build_graph(build_mesh(GROUND).mesh)
    narrow, _ = tangents_of(graph, 0.1)
    wide, is_free = tangents_of(graph, 1.2)
    across = [int((np.abs(lines - 7.0) < 2.0).all(axis=(1, 2)).sum()) for lines in (narrow, wide)]
    assert across == [0, 2]  # from 1 m on, the two between the boxes, from corner to corner
    for line, free in zip(*tangents_of(graph, 0.9), strict=True):
        if free:
            assert shapely.distance(shapely.LineString(line), GROUND.boundary) >= 0.9 - 1e-9
    assert not is_free.any()  # wider than widths are found for


@pytest.mark.parametrize("radius", [0.0, 0.5])
def test_the_layer_draws_a_line_for_each_tangent(radius):
    graph, _ = build_graph(build_mesh(GROUND).mesh)
    axes = new_figure(6.0, 4.0).subplots()
    draw_visibility(axes, graph, radius)
    assert sum(len(collection.get_segments()) for collection in axes.collections) == len(
        tangents_of(graph, radius)[0]
    )
