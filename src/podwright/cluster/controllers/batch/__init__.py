"""The controllers of work that ends: batch/v1."""
