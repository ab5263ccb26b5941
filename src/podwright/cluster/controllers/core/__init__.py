"""The controllers of namespaces, quotas and of objects that are left behind."""
