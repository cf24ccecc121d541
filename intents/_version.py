"""The version of the distribution, written here and nowhere else."""

__version__ = "0.1.0"
