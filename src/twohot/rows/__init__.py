"""The rows of a feature matrix as a fit reads them: prepared, block by block."""
