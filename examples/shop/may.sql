-- The customers and the orders of a day in May.

INSERT INTO customers VALUES ('ann', 'Bergen', '2024-05-01 08:00');
INSERT INTO customers VALUES ('bob', 'Lagos', '2024-05-01 08:00');
INSERT INTO customers VALUES ('ann', 'Oslo', '2024-05-01 10:15');

INSERT INTO orders VALUES (1, 'ann', 'lamp', 40, '2024-05-01 09:05');
INSERT INTO orders VALUES (2, 'bob', 'desk', 300, '2024-05-01 09:40');
INSERT INTO orders VALUES (3, 'ann', 'bulb', 5, '2024-05-01 10:10');
INSERT INTO orders VALUES (4, 'ann', 'bulb', 5, '2024-05-01 10:20');
INSERT INTO orders VALUES (5, 'bob', 'lamp', 40, '2024-05-01 11:00');
