"""The paper's claims, one module for each kind of evidence."""
