"""Figures and pages. matplotlib is imported here alone.

A figure has a function, which takes and returns the axes (or, of figures with many parts, the
figure) it draws on:

- ``front_figures``: one privacy measure against one cost, with its landmarks, whole, magnified, and
  of several fronts over each other; how a search converged;
- ``group_figures``: how the rows of a solution are spread over group sizes;
- ``objective_figures``: three objectives and more, in pairs, under limits, and k with ℓ;
- ``compare_figures``: anonymizations of one table against each other;
- ``diagnosis_figures``: answers about a table before anything is generalized;
- ``frontier_figures``: privacy loss of individuals against utility loss for large populations;
- ``learning_figures``, ``learning_page``: what models still learn from releases;
- ``figure_style``, ``figure_labels``: how all of them look, and where words go;
- ``figure_files``: which figures suit a front, and figures as files.

``page`` writes the pages on which fronts and frontiers can be explored, ``page_data`` is
what the page of fronts knows, and the folder ``page`` holds scripts and style: ``plot.js`` is the
panel of a front, ``chart.js`` draws, ``axis.js`` scales, ``pointing.js`` has pointer, zoom and
selection.
"""
