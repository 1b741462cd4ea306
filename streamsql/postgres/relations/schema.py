"""Columns of pg_catalog and information_schema of PostgreSQL 15.

Each line is a relation with its columns; a letter after the colon is their type: o oid, n text, s
smallint, i integer, b bigint, f real, t boolean, z moment, v and w vectors of smallints and oids,
O, N and S arrays of the same. Relations outside of `contents`, `fixed` and `derived` are empty:
there are no triggers, rules or sequences.
"""

from __future__ import annotations

from collections.abc import Mapping

TYPES = {
    "o": "UINTEGER",
    "n": "VARCHAR",
    "s": "SMALLINT",
    "i": "INTEGER",
    "b": "BIGINT",
    "f": "FLOAT",
    "t": "BOOLEAN",
    "z": "TIMESTAMP WITH TIME ZONE",
    "v": "USMALLINT[]",
    "w": "UBIGINT[]",
    "O": "UINTEGER[]",
    "N": "VARCHAR[]",
    "S": "SMALLINT[]",
}

_PG_CATALOG = """
pg_am oid:o amname:n amhandler:n amtype:n
pg_attrdef oid:o adrelid:o adnum:s adbin:n
pg_attribute attrelid:o attname:n atttypid:o attstattarget:i attlen:s attnum:s attndims:i \
 attcacheoff:i atttypmod:i attbyval:t attalign:n attstorage:n attcompression:n attnotnull:t \
 atthasdef:t atthasmissing:t attidentity:n attgenerated:n attisdropped:t attislocal:t \
 attinhcount:i attcollation:o attacl:N attoptions:N attfdwoptions:N attmissingval:n
pg_auth_members roleid:o member:o grantor:o admin_option:t
pg_authid oid:o rolname:n rolsuper:t rolinherit:t rolcreaterole:t rolcreatedb:t rolcanlogin:t \
 rolreplication:t rolbypassrls:t rolconnlimit:i rolpassword:n rolvaliduntil:z
pg_available_extensions name:n default_version:n installed_version:n comment:n
pg_cast oid:o castsource:o casttarget:o castfunc:o castcontext:n castmethod:n
pg_class oid:o relname:n relnamespace:o reltype:o reloftype:o relowner:o relam:o relfilenode:o \
 reltablespace:o relpages:i reltuples:f relallvisible:i reltoastrelid:o relhasindex:t \
 relisshared:t relpersistence:n relkind:n relnatts:s relchecks:s relhasrules:t relhastriggers:t \
 relhassubclass:t relrowsecurity:t relforcerowsecurity:t relispopulated:t relreplident:n \
 relispartition:t relrewrite:o relfrozenxid:b relminmxid:b relacl:N reloptions:N relpartbound:n
pg_collation oid:o collname:n collnamespace:o collowner:o collprovider:n collisdeterministic:t \
 collencoding:i collcollate:n collctype:n colliculocale:n collversion:n
pg_constraint oid:o conname:n connamespace:o contype:n condeferrable:t condeferred:t \
 convalidated:t conrelid:o contypid:o conindid:o conparentid:o confrelid:o confupdtype:n \
 confdeltype:n confmatchtype:n conislocal:t coninhcount:i connoinherit:t conkey:S confkey:S \
 conpfeqop:O conppeqop:O conffeqop:O confdelsetcols:S conexclop:O conbin:n
pg_cursors name:n statement:n is_holdable:t is_binary:t is_scrollable:t creation_time:z
pg_database oid:o datname:n datdba:o encoding:i datlocprovider:n datistemplate:t datallowconn:t \
 datconnlimit:i datfrozenxid:b datminmxid:b dattablespace:o datcollate:n datctype:n \
 daticulocale:n datcollversion:n datacl:N
pg_depend classid:o objid:o objsubid:i refclassid:o refobjid:o refobjsubid:i deptype:n
pg_description objoid:o classoid:o objsubid:i description:n
pg_enum oid:o enumtypid:o enumsortorder:f enumlabel:n
pg_event_trigger oid:o evtname:n evtevent:n evtowner:o evtfoid:o evtenabled:n evttags:N
pg_extension oid:o extname:n extowner:o extnamespace:o extrelocatable:t extversion:n extconfig:O \
 extcondition:N
pg_foreign_data_wrapper oid:o fdwname:n fdwowner:o fdwhandler:o fdwvalidator:o fdwacl:N \
 fdwoptions:N
pg_foreign_server oid:o srvname:n srvowner:o srvfdw:o srvtype:n srvversion:n srvacl:N \
 srvoptions:N
pg_foreign_table ftrelid:o ftserver:o ftoptions:N
pg_group groname:n grosysid:o grolist:O
pg_get_keywords word:n catcode:n barelabel:t catdesc:n baredesc:n
pg_index indexrelid:o indrelid:o indnatts:s indnkeyatts:s indisunique:t indnullsnotdistinct:t \
 indisprimary:t indisexclusion:t indimmediate:t indisclustered:t indisvalid:t indcheckxmin:t \
 indisready:t indislive:t indisreplident:t indkey:v indcollation:w indclass:w indoption:v \
 indexprs:n indpred:n
pg_indexes schemaname:n tablename:n indexname:n tablespace:n indexdef:n
pg_inherits inhrelid:o inhparent:o inhseqno:i inhdetachpending:t
pg_language oid:o lanname:n lanowner:o lanispl:t lanpltrusted:t lanplcallfoid:o laninline:o \
 lanvalidator:o lanacl:N
pg_locks locktype:n database:o relation:o page:i tuple:s virtualxid:n transactionid:b classid:o \
 objid:o objsubid:s virtualtransaction:n pid:i mode:n granted:t fastpath:t waitstart:z
pg_matviews schemaname:n matviewname:n matviewowner:n tablespace:n hasindexes:t ispopulated:t \
 definition:n
pg_namespace oid:o nspname:n nspowner:o nspacl:N
pg_opclass oid:o opcmethod:o opcname:n opcnamespace:o opcowner:o opcfamily:o opcintype:o \
 opcdefault:t opckeytype:o
pg_operator oid:o oprname:n oprnamespace:o oprowner:o oprkind:n oprcanmerge:t oprcanhash:t \
 oprleft:o oprright:o oprresult:o oprcom:o oprnegate:o oprcode:n oprrest:n oprjoin:n
pg_partitioned_table partrelid:o partstrat:n partnatts:s partdefid:o partattrs:v partclass:w \
 partcollation:w partexprs:n
pg_policies schemaname:n tablename:n policyname:n permissive:n roles:N cmd:n qual:n with_check:n
pg_policy oid:o polname:n polrelid:o polcmd:n polpermissive:t polroles:O polqual:n polwithcheck:n
pg_proc oid:o proname:n pronamespace:o proowner:o prolang:o procost:f prorows:f provariadic:o \
 prosupport:n prokind:n prosecdef:t proleakproof:t proisstrict:t proretset:t provolatile:n \
 proparallel:n pronargs:s pronargdefaults:s prorettype:o proargtypes:w proallargtypes:O \
 proargmodes:N proargnames:N proargdefaults:n protrftypes:O prosrc:n probin:n prosqlbody:n \
 proconfig:N proacl:N
pg_publication oid:o pubname:n pubowner:o puballtables:t pubinsert:t pubupdate:t pubdelete:t \
 pubtruncate:t pubviaroot:t
pg_publication_namespace oid:o pnpubid:o pnnspid:o
pg_publication_rel oid:o prpubid:o prrelid:o prqual:n prattrs:v
pg_range rngtypid:o rngsubtype:o rngmultitypid:o rngcollation:o rngsubopc:o rngcanonical:n \
 rngsubdiff:n
pg_rewrite oid:o rulename:n ev_class:o ev_type:n ev_enabled:n is_instead:t ev_qual:n ev_action:n
pg_roles rolname:n rolsuper:t rolinherit:t rolcreaterole:t rolcreatedb:t rolcanlogin:t \
 rolreplication:t rolconnlimit:i rolpassword:n rolvaliduntil:z rolbypassrls:t rolconfig:N oid:o
pg_rules schemaname:n tablename:n rulename:n definition:n
pg_seclabel objoid:o classoid:o objsubid:i provider:n label:n
pg_seclabels objoid:o classoid:o objsubid:i objtype:n objnamespace:o objname:n provider:n label:n
pg_sequence seqrelid:o seqtypid:o seqstart:b seqincrement:b seqmax:b seqmin:b seqcache:b \
 seqcycle:t
pg_sequences schemaname:n sequencename:n sequenceowner:n data_type:n start_value:b min_value:b \
 max_value:b increment_by:b cycle:t cache_size:b last_value:b
pg_settings name:n setting:n unit:n category:n short_desc:n extra_desc:n context:n vartype:n \
 source:n min_val:n max_val:n enumvals:N boot_val:n reset_val:n sourcefile:n sourceline:i \
 pending_restart:t
pg_shdescription objoid:o classoid:o description:n
pg_stat_activity datid:o datname:n pid:i leader_pid:i usesysid:o usename:n application_name:n \
 client_addr:n client_hostname:n client_port:i backend_start:z xact_start:z query_start:z \
 state_change:z wait_event_type:n wait_event:n state:n backend_xid:b backend_xmin:b query_id:b \
 query:n backend_type:n
pg_stat_gssapi pid:i gss_authenticated:t principal:n encrypted:t
pg_stat_user_tables relid:o schemaname:n relname:n seq_scan:b seq_tup_read:b idx_scan:b \
 idx_tup_fetch:b n_tup_ins:b n_tup_upd:b n_tup_del:b n_tup_hot_upd:b n_live_tup:b n_dead_tup:b \
 n_mod_since_analyze:b n_ins_since_vacuum:b last_vacuum:z last_autovacuum:z last_analyze:z \
 last_autoanalyze:z vacuum_count:b autovacuum_count:b analyze_count:b autoanalyze_count:b
pg_statistic_ext oid:o stxrelid:o stxname:n stxnamespace:o stxowner:o stxstattarget:i stxkeys:v \
 stxkind:N stxexprs:n
pg_subscription oid:o subdbid:o subskiplsn:n subname:n subowner:o subenabled:t subbinary:t \
 substream:t subtwophasestate:n subdisableonerr:t subconninfo:n subslotname:n subsynccommit:n \
 subpublications:N
pg_tables schemaname:n tablename:n tableowner:n tablespace:n hasindexes:t hasrules:t \
 hastriggers:t rowsecurity:t
pg_tablespace oid:o spcname:n spcowner:o spcacl:N spcoptions:N
pg_timezone_names name:n abbrev:n utc_offset:n is_dst:t
pg_trigger oid:o tgrelid:o tgparentid:o tgname:n tgfoid:o tgtype:s tgenabled:n tgisinternal:t \
 tgconstrrelid:o tgconstrindid:o tgconstraint:o tgdeferrable:t tginitdeferred:t tgnargs:s \
 tgattr:v tgargs:n tgqual:n tgoldtable:n tgnewtable:n
pg_type oid:o typname:n typnamespace:o typowner:o typlen:s typbyval:t typtype:n typcategory:n \
 typispreferred:t typisdefined:t typdelim:n typrelid:o typsubscript:n typelem:o typarray:o \
 typinput:n typoutput:n typreceive:n typsend:n typmodin:n typmodout:n typanalyze:n typalign:n \
 typstorage:n typnotnull:t typbasetype:o typtypmod:i typndims:i typcollation:o typdefaultbin:n \
 typdefault:n typacl:N
pg_user usename:n usesysid:o usecreatedb:t usesuper:t userepl:t usebypassrls:t passwd:n \
 valuntil:z useconfig:N
pg_views schemaname:n viewname:n viewowner:n definition:n
"""
_INFORMATION_SCHEMA = """
check_constraints constraint_catalog:n constraint_schema:n constraint_name:n check_clause:n
columns table_catalog:n table_schema:n table_name:n column_name:n ordinal_position:i \
 column_default:n is_nullable:n data_type:n character_maximum_length:i character_octet_length:i \
 numeric_precision:i numeric_precision_radix:i numeric_scale:i datetime_precision:i \
 interval_type:n interval_precision:i character_set_catalog:n character_set_schema:n \
 character_set_name:n collation_catalog:n collation_schema:n collation_name:n domain_catalog:n \
 domain_schema:n domain_name:n udt_catalog:n udt_schema:n udt_name:n scope_catalog:n \
 scope_schema:n scope_name:n maximum_cardinality:i dtd_identifier:n is_self_referencing:n \
 is_identity:n identity_generation:n identity_start:n identity_increment:n identity_maximum:n \
 identity_minimum:n identity_cycle:n is_generated:n generation_expression:n is_updatable:n
constraint_column_usage table_catalog:n table_schema:n table_name:n column_name:n \
 constraint_catalog:n constraint_schema:n constraint_name:n
key_column_usage constraint_catalog:n constraint_schema:n constraint_name:n table_catalog:n \
 table_schema:n table_name:n column_name:n ordinal_position:i position_in_unique_constraint:i
referential_constraints constraint_catalog:n constraint_schema:n constraint_name:n \
 unique_constraint_catalog:n unique_constraint_schema:n unique_constraint_name:n match_option:n \
 update_rule:n delete_rule:n
routines specific_catalog:n specific_schema:n specific_name:n routine_catalog:n routine_schema:n \
 routine_name:n routine_type:n module_catalog:n module_schema:n module_name:n udt_catalog:n \
 udt_schema:n udt_name:n data_type:n character_maximum_length:i character_octet_length:i \
 character_set_catalog:n character_set_schema:n character_set_name:n collation_catalog:n \
 collation_schema:n collation_name:n numeric_precision:i numeric_precision_radix:i \
 numeric_scale:i datetime_precision:i interval_type:n interval_precision:i type_udt_catalog:n \
 type_udt_schema:n type_udt_name:n scope_catalog:n scope_schema:n scope_name:n \
 maximum_cardinality:i dtd_identifier:n routine_body:n routine_definition:n external_name:n \
 external_language:n parameter_style:n is_deterministic:n sql_data_access:n is_null_call:n \
 sql_path:n schema_level_routine:n max_dynamic_result_sets:i is_user_defined_cast:n \
 is_implicitly_invocable:n security_type:n to_sql_specific_catalog:n to_sql_specific_schema:n \
 to_sql_specific_name:n as_locator:n created:z last_altered:z new_savepoint_level:n \
 is_udt_dependent:n result_cast_from_data_type:n result_cast_as_locator:n \
 result_cast_char_max_length:i result_cast_char_octet_length:i result_cast_char_set_catalog:n \
 result_cast_char_set_schema:n result_cast_char_set_name:n result_cast_collation_catalog:n \
 result_cast_collation_schema:n result_cast_collation_name:n result_cast_numeric_precision:i \
 result_cast_numeric_precision_radix:i result_cast_numeric_scale:i \
 result_cast_datetime_precision:i result_cast_interval_type:n result_cast_interval_precision:i \
 result_cast_type_udt_catalog:n result_cast_type_udt_schema:n result_cast_type_udt_name:n \
 result_cast_scope_catalog:n result_cast_scope_schema:n result_cast_scope_name:n \
 result_cast_maximum_cardinality:i result_cast_dtd_identifier:n
schemata catalog_name:n schema_name:n schema_owner:n default_character_set_catalog:n \
 default_character_set_schema:n default_character_set_name:n sql_path:n
sequences sequence_catalog:n sequence_schema:n sequence_name:n data_type:n numeric_precision:i \
 numeric_precision_radix:i numeric_scale:i start_value:n minimum_value:n maximum_value:n \
 increment:n cycle_option:n
table_constraints constraint_catalog:n constraint_schema:n constraint_name:n table_catalog:n \
 table_schema:n table_name:n constraint_type:n is_deferrable:n initially_deferred:n enforced:n \
 nulls_distinct:n
table_privileges grantor:n grantee:n table_catalog:n table_schema:n table_name:n privilege_type:n \
 is_grantable:n with_hierarchy:n
tables table_catalog:n table_schema:n table_name:n table_type:n self_referencing_column_name:n \
 reference_generation:n user_defined_type_catalog:n user_defined_type_schema:n \
 user_defined_type_name:n is_insertable_into:n is_typed:n commit_action:n
triggers trigger_catalog:n trigger_schema:n trigger_name:n event_manipulation:n \
 event_object_catalog:n event_object_schema:n event_object_table:n action_order:i \
 action_condition:n action_statement:n action_orientation:n action_timing:n \
 action_reference_old_table:n action_reference_new_table:n action_reference_old_row:n \
 action_reference_new_row:n created:z
views table_catalog:n table_schema:n table_name:n view_definition:n check_option:n is_updatable:n \
 is_insertable_into:n is_trigger_updatable:n is_trigger_deletable:n is_trigger_insertable_into:n
"""


def _relations(text: str, prefix: str = "") -> dict[str, tuple[tuple[str, str], ...]]:
    found = {}
    for line in text.replace(" \\\n", " ").strip().splitlines():
        name, *columns = line.split()
        pairs = (column.partition(":") for column in columns)
        found[prefix + name] = tuple((column, TYPES[letter]) for column, _, letter in pairs)
    return found


INFORMATION = "information_schema_"
"""Name prefix of information_schema."""
RELATIONS = _relations(_PG_CATALOG) | _relations(_INFORMATION_SCHEMA, INFORMATION)
"""Columns with DuckDB's types, by the name of the table in DuckDB."""
Rows = list[tuple[object, ...]]


def row(relation: str, given: Mapping[str, object]) -> tuple[object, ...]:
    """A row in column order; missing values are null."""
    names = [name for name, _ in RELATIONS[relation]]
    assert given.keys() <= set(names), (relation, given.keys() - set(names))
    return tuple(given.get(name) for name in names)


def definitions() -> list[str]:
    """The statements that create the tables."""
    return [
        f'CREATE TABLE main."{name}" ('
        + ", ".join(f'"{column}" {kind}' for column, kind in columns)
        + ")"
        for name, columns in RELATIONS.items()
    ]
