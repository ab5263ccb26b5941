"""The use of resources over a run: utilization, fragmentation, shares of devices."""
