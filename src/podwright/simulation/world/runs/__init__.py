"""Runs: from options to results and reports."""
