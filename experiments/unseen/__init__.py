"""Thirty conditions and five crowds, written apart from the annotator model for one final run."""
