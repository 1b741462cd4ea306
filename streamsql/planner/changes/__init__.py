"""Classifies a change of a query or source, and derives its effect on rows and state.

Pure functions over two plans or two definitions: the same change always has the same class. The
executor decides which classes it can carry out.
"""
