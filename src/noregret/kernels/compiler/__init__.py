"""How kernels are compiled and kept on disk, and how one loop serves every type of state."""
