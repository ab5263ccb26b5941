"""What single kinds need in the stages of writes, besides their strategies."""
