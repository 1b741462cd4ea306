"""What a change of what runs means: its class, why, and what becomes of rows and state.

Pure functions over two plans, or two definitions. Who carries a change out decides what it can; the
same change is always of the same class.
"""
