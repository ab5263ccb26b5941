"""What is kept of a served cluster: records, runs, snapshots, positions of logs."""
