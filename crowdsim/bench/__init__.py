"""How fast is crowdsim beside the simulators that pip installs? Fixed scenes, all by turns, ratios;
`crowdsim bench` (docs/reference/benchmarks.md).
"""
