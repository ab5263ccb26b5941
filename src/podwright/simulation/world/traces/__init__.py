"""Traces of clusters: pods that arrive over time, read, changed, described and generated."""
