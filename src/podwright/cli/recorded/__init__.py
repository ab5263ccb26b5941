"""What commands do with runs and records: simulate, show, step, report, convert."""
