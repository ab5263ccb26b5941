"""Results of plugins over all slots, and totals that are updated incrementally."""
