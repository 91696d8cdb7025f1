"""Passes, times and memory of fits: docs/benchmarks.md."""
