"""Makes `corpus` and `foreign`, which lie here, and `bench` importable from every test."""

import sys
from pathlib import Path

TESTS = Path(__file__).parent
sys.path[:0] = [str(TESTS), str(TESTS.parent)]
