"""Tests: unit (seconds), integration (real servers on loopback), gpu."""
