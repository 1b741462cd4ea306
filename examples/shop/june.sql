-- The orders of a day in June.

INSERT INTO orders VALUES (6, 'ann', 'lamp', 40, '2024-06-01 12:00');
INSERT INTO orders VALUES (7, 'bob', 'bulb', 5, '2024-06-01 12:30');
