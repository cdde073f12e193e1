"""The kernels of NPBench, as plain NumPy functions."""
