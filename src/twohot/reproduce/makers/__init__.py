"""Makers of figures and tables, one module for each kind; importing this registers them all."""
