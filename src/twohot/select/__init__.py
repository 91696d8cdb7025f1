"""Which probe to fit: candidates, compared on held-out noisy labels."""
