-- The sources as tables of PostgreSQL's.
CREATE TABLE orders (id bigint, user_id bigint, product_id bigint, subtotal double precision,
    tax double precision, total double precision, discount double precision,
    created_at timestamptz, quantity integer);
CREATE TABLE people (id bigint PRIMARY KEY, name text, email text, state text, source text,
    latitude double precision, longitude double precision, created_at timestamptz);
CREATE TABLE products (id bigint PRIMARY KEY, title text, category text, price double precision,
    rating double precision, created_at timestamptz);
CREATE TABLE sales (order_date timestamptz, epoch_ms bigint, country text, product_line text,
    deal_size text, status text, customer text, quantity integer, sales double precision);
CREATE TABLE metrics (time timestamptz, host text, region text, measurement text,
    value double precision);
CREATE TABLE logs (time timestamptz, level text, service text, message text, duration_ms integer,
    status integer);
