{# Tests are pull queries: what there is now. dbt's own serve, but where they would ask what was. #}

{# A stream that is joined with a table meets the row of its time. What is asked is whether the value
   is there now: so values are compared as sets, and each that is missing counts once. #}
{% macro streamsql__test_relationships(model, column_name, to, field) %}
select {{ column_name }} as from_field
from {{ model }}
where {{ column_name }} is not null
except
select {{ field }} as from_field
from {{ to }}
{% endmacro %}

{% macro streamsql__get_limit_sql(sql, limit) %}
  {% if limit is not none and model and model.resource_type == 'test' and config.get('limit') %}
    {% do streamsql_refuse("`limit` of a test", "`where`, which looks at fewer rows") %}
  {% endif %}
  {{ default__get_limit_sql(sql, limit) }}
{% endmacro %}

{% macro streamsql__current_timestamp() %}CURRENT_TIMESTAMP{% endmacro %}
