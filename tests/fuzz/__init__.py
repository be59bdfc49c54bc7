"""Damaged and malicious files for everything that noregret reads, the same ones each time."""
