"""Does a run repeat? Golden runs: recorded once, run again, and compared.

In: scenarios and recordings that were kept. Out: the first difference, by tick, system, column and agent, or
none. `golden_runs` records and checks, `golden_recordings` says what is kept of a run, `pytest_plugin` is the
fixture for projects of others.
"""
