"""Many runs that survive: played from the store's checkpoints, by threads, processes, or a Ray or Dask cluster."""
