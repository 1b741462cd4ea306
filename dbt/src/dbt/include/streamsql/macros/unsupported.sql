{# What dbt has and a stream engine has not: an error that says what there is instead. #}

{% materialization incremental, adapter='streamsql' %}
  {% do streamsql_refuse("materialized='incremental'",
      "'table' or 'stream', which take up what is new by themselves") %}
{% endmaterialization %}

{% materialization materialized_view, adapter='streamsql' %}
  {% do streamsql_refuse("materialized='materialized_view'", "'table', which is one") %}
{% endmaterialization %}

{% materialization snapshot, adapter='streamsql' %}
  {% do streamsql_refuse('a snapshot',
      "a source with kind='stream' over the topic of the table: each change is a record there") %}
{% endmaterialization %}

{% materialization seed, adapter='streamsql' %}
  {% do streamsql_refuse('a seed', 'a source, and rows by INSERT, COPY or `streamsql load`') %}
{% endmaterialization %}

{% materialization clone, adapter='streamsql' %}
  {% do streamsql_refuse('dbt clone', 'a run in an engine of its own') %}
{% endmaterialization %}

{% materialization unit, adapter='streamsql' %}
  {% do streamsql_refuse('a unit test', '`streamsql test` with inputs and outputs') %}
{% endmaterialization %}

{% materialization function, adapter='streamsql' %}
  {% do streamsql_refuse('a function of dbt', 'CREATE FUNCTION .. LANGUAGE PYTHON, in a hook') %}
{% endmaterialization %}

{% macro streamsql__get_create_sql(relation, sql) %}
  {% do streamsql_refuse('store_failures',
      'the query of the test: dbt show --inline, or psql') %}
{% endmacro %}

{% macro streamsql__collect_freshness(source, loaded_at_field, filter) %}
  {% do streamsql_refuse('the freshness of a source', 'the lag of queries, in SHOW QUERIES EXTENDED and /metrics') %}
{% endmacro %}

{% macro streamsql__collect_freshness_custom_sql(source, loaded_at_query) %}
  {% do streamsql_refuse('the freshness of a source', 'the lag of queries, in SHOW QUERIES EXTENDED and /metrics') %}
{% endmacro %}
