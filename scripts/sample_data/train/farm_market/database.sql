CREATE TABLE farm (
    farm_id INTEGER PRIMARY KEY,
    farm_name TEXT NOT NULL,
    owner TEXT,
    village TEXT,
    hectares REAL,
    organic INTEGER
);
CREATE TABLE product (
    product_id INTEGER PRIMARY KEY,
    product_name TEXT NOT NULL,
    category TEXT,
    unit_price REAL
);
CREATE TABLE market (
    market_id INTEGER PRIMARY KEY,
    market_name TEXT,
    town TEXT,
    "day of week" TEXT
);
CREATE TABLE delivery (
    delivery_id INTEGER PRIMARY KEY,
    farm_id INTEGER REFERENCES farm(farm_id),
    product_id INTEGER REFERENCES product(product_id),
    market_id INTEGER REFERENCES market(market_id),
    delivered_on DATE,
    amount INTEGER
);
INSERT INTO farm VALUES
(1, 'Hollow Oak', 'Edwin Price', 'Marlow', 42.5, 1), (2, 'Señora Verde', 'Carmen Ortega', 'Marlow', 18.0, 1),
(3, 'Brook End', 'Sally Dunn', 'Thornby', 96.0, 0), (4, 'Bäckerhof', 'Uwe Schäfer', 'Thornby', 61.5, 0),
(5, 'Two Geese', NULL, 'Ash Cross', 7.5, 1), (6, 'Long Meadow', 'Peter Dunn', 'Ash Cross', 120.0, 0), (7, 'New Leaf', 'Aisha Khan', 'Pell', 3.0, 1);
INSERT INTO product VALUES
(1, 'Potatoes', 'vegetable', 1.2), (2, 'Carrots', 'vegetable', 1.5), (3, 'Apples', 'fruit', 2.4), (4, 'Plums', 'fruit', 3.6),
(5, 'Goat cheese', 'dairy', 14.5), (6, 'Butter', 'dairy', 9.0), (7, 'Eggs', NULL, 3.2), (8, 'Honey', NULL, 11.0), (9, 'Asparagus', 'vegetable', 8.9),
(10, 'Crème fraîche', 'dairy', 6.4), (11, 'Saffron', 'spice', 95.0);
INSERT INTO market VALUES
(1, 'Corn Square', 'Elton', 'Saturday'), (2, 'Old Quay', 'Elton', 'Wednesday'), (3, 'Church Yard', 'Marlow', 'Saturday'),
(4, 'Station Road', 'Pell', 'Friday'), (5, 'Night Market', 'Stowe', 'Thursday');
INSERT INTO delivery
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 55)
SELECT i, 1 + (i * 5 + i / 6) % 6, 1 + i * 7 % 10, 1 + (i * 3 + i / 4) % 4, date('2023-03-04', '+' || (i * 5) || ' days'), 10 + i * 29 % 83 FROM n;
