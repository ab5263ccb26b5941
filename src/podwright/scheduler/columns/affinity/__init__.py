"""What selectors and terms of pods match, per topology domain."""
