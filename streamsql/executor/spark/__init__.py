"""Everything that touches Spark: the session, lowering plans and starting them."""

from __future__ import annotations

import warnings

# PySpark warns about pandas 3 if it is installed; pandas is not used here.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
