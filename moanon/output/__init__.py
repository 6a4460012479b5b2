"""Figures and pages. matplotlib is imported here alone.

A figure has a function, which takes and returns the axes (or, of figures with many parts, the
figure) it draws on:

- ``front_figures``: one privacy measure against one cost, with its landmarks, whole, magnified, and
  of several fronts in one plot; how a search converged;
- ``objective_figures``: three objectives and more, in pairs, under limits, and k with ℓ;
- ``release_figures``: group sizes, releases compared row by row, the plane of privacy loss and
  utility loss, and what models still learn;
- ``diagnosis_figures``: answers about a table before anything is generalized;
- ``figure_style``: how all of them look, and where labels and legends go;
- ``figure_files``: which figures suit a front, and figures as files.

``page`` writes the pages on which fronts and frontiers can be explored and the page of a learning
study, ``summary`` the sheet for whoever signs a release. ``page_data`` is the data of the page of
fronts. The folder ``page`` holds scripts and style: ``plot.js`` is the panel of a front,
``chart.js`` draws, ``axis.js`` scales, ``pointing.js`` has pointer, zoom and selection.
"""
