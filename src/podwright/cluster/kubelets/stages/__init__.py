"""KWOK's Stages: read, matched, scheduled, played."""
