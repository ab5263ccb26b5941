"""The commands about published experiments and traces."""
