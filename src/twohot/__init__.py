"""Accurate classifiers on frozen embeddings from labels you cannot trust."""

__version__ = "0.1.0"
