{# The materializations: each a definition that the engine is asked to have. #}

{% materialization source, adapter='streamsql' %}
  {{ return(streamsql_build('source')) }}
{% endmaterialization %}

{% materialization stream, adapter='streamsql' %}
  {{ return(streamsql_build('stream')) }}
{% endmaterialization %}

{% materialization table, adapter='streamsql' %}
  {{ return(streamsql_build('table')) }}
{% endmaterialization %}

{% materialization view, adapter='streamsql' %}
  {{ return(streamsql_build('view')) }}
{% endmaterialization %}

{% macro streamsql_build(materialized) %}
  {% do streamsql_check_config() %}
  {% set comment = none %}
  {% if config.persist_relation_docs() and model.description %}
    {% set comment = model.description %}
  {% endif %}
  {% set definition = adapter.streamsql_definition(materialized, this, sql, config, comment) %}
  {% set target = this.incorporate(type=definition.kind) %}

  {% do streamsql_run_hooks(pre_hooks) %}
  {% set done = adapter.streamsql_build(
      definition, config, should_full_refresh(), streamsql_models_of_run()) %}
  {% call noop_statement('main', done, done) -%}
    {{ definition.sql }}
  {%- endcall %}
  {% do streamsql_run_hooks(post_hooks) %}

  {{ return({'relations': [target]}) }}
{% endmacro %}

{# The other models of this run by their names, with their configs. #}
{% macro streamsql_models_of_run() %}
  {% set found = {} %}
  {% for id in selected_resources %}
    {% set node = graph.nodes.get(id) %}
    {% if node and node.resource_type == 'model' and id != model.unique_id and node.relation_name %}
      {% do found.update({node.relation_name: node.config}) %}
    {% endif %}
  {% endfor %}
  {{ return(found) }}
{% endmacro %}

{# There are no transactions, so it makes no difference what a hook says of them. #}
{% macro streamsql_run_hooks(hooks) %}
  {% for hook in hooks %}
    {% set rendered = render(hook.get('sql')) | trim %}
    {% if rendered %}
      {% call statement(auto_begin=False) %}
        {{ rendered }}
      {% endcall %}
    {% endif %}
  {% endfor %}
{% endmacro %}

{% macro streamsql_check_config() %}
  {% if config.get('contract') and config.get('contract').enforced %}
    {% do streamsql_refuse('an enforced contract',
        'the columns are those that the query gives: write CAST where a type has to be another') %}
  {% endif %}
  {% if config.get('grants') %}
    {% do streamsql_refuse('grants', "the roles of users stand in the server's users file") %}
  {% endif %}
  {% if config.persist_column_docs() %}
    {% do streamsql_refuse('persist_docs of columns', "persist_docs: {relation: true}") %}
  {% endif %}
{% endmacro %}

{% macro streamsql_refuse(what, instead) %}
  {% do exceptions.raise_compiler_error(what ~ ' is not supported by streamsql\nInstead: ' ~ instead ~ '.') %}
{% endmacro %}
