"""Makes `corpus` and `foreign`, which lie here, and `bench` importable from every test."""

import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

TESTS = Path(__file__).parent
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

# How long an example takes is the machine's affair, and that of whoever else is busy on it.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")
