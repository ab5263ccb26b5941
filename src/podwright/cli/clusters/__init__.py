"""What commands do with real clusters: read, record, follow, schedule."""
