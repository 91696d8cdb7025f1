"""From one fit to a student: targets, rounds and the estimators."""
