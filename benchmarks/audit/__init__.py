"""AutoProbe and its audits against others on noisy labels: docs/audit_benchmark.md."""
