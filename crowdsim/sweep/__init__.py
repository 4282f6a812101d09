"""What do many runs result in? A design says which values, a plan which runs,
a worker does each in a process of its own, and a folder keeps the results.

Reading order: `design` (which combinations of values), `design_file` (the same as YAML), `plan` (every
combination checked, every run with its id), `one_run` (what a run's own process does), `fork_server` (the
warm process that forks for each run), `worker` (asks it, over and over), `folder` (what is kept), `pools`
(what does runs at once), `cluster` and `cluster_worker` (the same on workers of dask), `supervise` (all of
them to their end), `tables` (what a program reads). `code` says what must be the same wherever a run is done.
"""
