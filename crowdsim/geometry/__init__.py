"""Which shapes are there, and what is near what? The ground that navigation, avoidance and bodies share.

In: points, segments, polygons and triangles. Out: `plane` (points and lines), `triangulation` (every wall and
every gap an edge), `walls`, `cells` (the index of neighbours), `floor_plans` and `surface` (floors in plan
and in space), `steps` (long work in parts), `line_crossing`, and what else several rooms need.
"""
