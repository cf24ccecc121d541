"""Programs that measure the library; each figure stands beside a baseline of the same run."""
