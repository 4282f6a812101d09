"""How fast is crowdsim beside the simulators that pip installs? Fixed scenes, everybody by turns, ratios; `crowdsim bench` (docs/reference/benchmarks.md)."""
