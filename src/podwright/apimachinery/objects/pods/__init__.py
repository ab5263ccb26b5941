"""Pods, and what they request and tolerate."""
