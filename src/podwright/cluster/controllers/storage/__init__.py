"""The controllers of volumes and claims."""
