"""One fit: targets in, coefficients and a certificate of the optimum out."""
