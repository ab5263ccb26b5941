"""Extended resources that device classes back."""
