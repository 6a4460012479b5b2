"""Figures and pages. matplotlib is imported here alone.

`moanon.output.plots` is the way in: a function for each figure, which takes and returns the axes
(or, of figures with many parts, the figure) it draws on, and `write_plots` and `write_comparison`,
which choose what suits a front and write the files. Behind it,

- ``fronts``: one privacy measure against one cost, with its landmarks, whole and magnified;
- ``groups``: how the rows of a solution are spread over group sizes;
- ``spaces``: three objectives and more, in pairs and under limits;
- ``safety``: k and ℓ together within a loss;
- ``comparison``: fronts of several limits η;
- ``curves``, ``labels``, ``style``: what they are made of, where words go, how everything looks;
- ``files``: figures as files.

`moanon.output.report` writes the page on which fronts can be explored; its parts lie in ``page``.
"""
