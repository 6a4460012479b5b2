"""Measures: named numbers of groups.

``groups`` holds the groups of one genome for a close look; ``suppression`` says which of them are
given up (the four problems of D §5); ``evaluate`` scores populations of genomes under such a rule;
``registry`` names every number that comes out, with its direction, range, unit and citation;
``presets`` are the four problems as lists of objectives.
"""
