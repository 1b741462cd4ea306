"""The operators of a plan, a module for each."""

from streamsql.planner.operators.aggregate import *
from streamsql.planner.operators.database_sink import *
from streamsql.planner.operators.derived import *
from streamsql.planner.operators.distinct import *
from streamsql.planner.operators.export import *
from streamsql.planner.operators.file_sink import *
from streamsql.planner.operators.filter import *
from streamsql.planner.operators.flat_map import *
from streamsql.planner.operators.iceberg_sink import *
from streamsql.planner.operators.items import *
from streamsql.planner.operators.join import *
from streamsql.planner.operators.limit import *
from streamsql.planner.operators.lookup_join import *
from streamsql.planner.operators.match import *
from streamsql.planner.operators.operator import *
from streamsql.planner.operators.over import *
from streamsql.planner.operators.project import *
from streamsql.planner.operators.qualify import *
from streamsql.planner.operators.repartition import *
from streamsql.planner.operators.scan import *
from streamsql.planner.operators.set_operation import *
from streamsql.planner.operators.sink import *
from streamsql.planner.operators.top_n import *
from streamsql.planner.operators.union import *
from streamsql.planner.operators.values import *
from streamsql.planner.operators.view import *
