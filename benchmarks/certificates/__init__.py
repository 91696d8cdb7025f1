"""Certificates by simulation: what lists and reviews promise, and what they cost."""
