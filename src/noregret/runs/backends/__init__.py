"""Where runs are played: threads, processes, a Ray or a Dask cluster; each module has a function ``play``."""
