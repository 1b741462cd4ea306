"""The macros of the adapter: what dbt calls of it by name."""

import os

PACKAGE_PATH = os.path.dirname(__file__)
