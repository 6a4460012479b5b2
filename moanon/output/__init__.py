"""Figures and pages. matplotlib is imported here alone.

A figure has a function, which takes and returns the axes (or, of figures with many parts, the
figure) it draws on:

- ``front_figures``: one privacy measure against one cost, with its landmarks, whole and magnified;
  group sizes; how a search converged;
- ``objective_figures``: three objectives and more, in pairs, under limits, and k with ℓ; several
  fronts in one plot;
- ``studies``: releases compared row by row, the plane of privacy loss and utility loss, and what
  models still learn, with the pages of the last two;
- ``diagnosis_figures``: answers about a table before anything is generalized;
- ``figure_style``: how all of them look, and where labels and legends go;
- ``figure_files``: which figures suit a front, and figures as files.

``page`` writes the page on which fronts can be explored, and has what all pages share; ``summary``
is the sheet for whoever signs a release. The folder ``page`` holds scripts and style: ``plot.js``
is the panel of a front, ``chart.js`` draws, ``axis.js`` scales, ``pointing.js`` has pointer, zoom
and selection.
"""
