"""Scheduling and binding cycles, and preemption beside them."""
