"""Attribution against ground truths made by retraining: two classifiers, two causal language models."""
