"""What a user does with it: which labels are wrong, why, and what can be done about it."""
