"""Everything that touches Spark: the session, lowering plans and starting them."""

from __future__ import annotations

import warnings

# PySpark warns of pandas 3 where somebody has installed it; nothing here uses pandas.
warnings.filterwarnings("ignore", "PySpark does not yet fully support pandas", FutureWarning)
