"""What the machine is like: BLAS threads, files and locks, Ctrl-C, a progress bar. Nothing here knows about learning."""
