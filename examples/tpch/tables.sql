CREATE TABLE region (r_regionkey INT PRIMARY KEY, r_name TEXT, r_comment TEXT);
CREATE TABLE nation (n_nationkey INT PRIMARY KEY, n_name TEXT, n_regionkey INT, n_comment TEXT);
CREATE TABLE supplier (
    s_suppkey INT PRIMARY KEY, s_name TEXT, s_address TEXT, s_nationkey INT, s_phone TEXT,
    s_acctbal DECIMAL(15, 2), s_comment TEXT
);
CREATE TABLE customer (
    c_custkey INT PRIMARY KEY, c_name TEXT, c_address TEXT, c_nationkey INT, c_phone TEXT,
    c_acctbal DECIMAL(15, 2), c_mktsegment TEXT, c_comment TEXT
);
CREATE TABLE part (
    p_partkey INT PRIMARY KEY, p_name TEXT, p_mfgr TEXT, p_brand TEXT, p_type TEXT, p_size INT,
    p_container TEXT, p_retailprice DECIMAL(15, 2), p_comment TEXT
);
CREATE TABLE partsupp (
    ps_partkey INT PRIMARY KEY, ps_suppkey INT PRIMARY KEY, ps_availqty INT,
    ps_supplycost DECIMAL(15, 2), ps_comment TEXT
);
CREATE TABLE orders (
    o_orderkey INT PRIMARY KEY, o_custkey INT, o_orderstatus TEXT, o_totalprice DECIMAL(15, 2),
    o_orderdate DATE, o_orderpriority TEXT, o_clerk TEXT, o_shippriority INT, o_comment TEXT
);
CREATE TABLE lineitem (
    l_orderkey INT PRIMARY KEY, l_linenumber INT PRIMARY KEY, l_partkey INT, l_suppkey INT,
    l_quantity DECIMAL(15, 2), l_extendedprice DECIMAL(15, 2), l_discount DECIMAL(15, 2),
    l_tax DECIMAL(15, 2), l_returnflag TEXT, l_linestatus TEXT, l_shipdate DATE,
    l_commitdate DATE, l_receiptdate DATE, l_shipinstruct TEXT, l_shipmode TEXT, l_comment TEXT
);
