"""Volumes, claims and CSI drivers as columns."""
