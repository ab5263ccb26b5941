"""Plugins that complete or reject pods."""
