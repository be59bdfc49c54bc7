"""Where runs are played: threads, processes, a Ray or a Dask cluster; each is a function of the runs, a context, and a tick."""
