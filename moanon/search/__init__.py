"""Searching the space of genomes.

``moves`` are small changes that keep a genome valid.
"""
