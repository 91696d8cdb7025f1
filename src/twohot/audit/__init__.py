"""Which labels are wrong, why, and what a person decided about them."""
