"""Passes, times and memory of fits: docs/solver_benchmark.md."""
