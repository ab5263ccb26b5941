"""Validation of claims, classes and slices of devices."""
