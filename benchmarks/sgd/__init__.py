"""SGD as the paper trains, beside exact solves of the same objective: reproduction/trainers.md."""
