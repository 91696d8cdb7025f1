"""What a user does with a probe: choose one from noisy labels, find the wrong ones, foresee."""
