"""Knowledge that crosses domains: freshness T whose weights are learned from reuse."""
