"""What a user does with it: choose a probe, find the wrong labels and why, and foresee."""
