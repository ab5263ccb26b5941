"""What is kept of a served cluster: records, runs, snapshots, in-memory checkpoints of logs."""
