"""What commands do with decisions on a cluster of files: schedule, explain, compare."""
