"""The controllers of workloads that run without end: apps/v1 and ReplicationController."""
