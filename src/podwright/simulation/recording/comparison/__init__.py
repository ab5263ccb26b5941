"""Two of anything: placements, configurations, runs."""
