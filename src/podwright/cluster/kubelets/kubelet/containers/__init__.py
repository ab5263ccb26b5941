"""Containers: their creation, programs, files, probes and statuses."""
