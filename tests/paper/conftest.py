"""Tests of the paper's claims share the slow plain twin of tests/theory."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "theory"))
