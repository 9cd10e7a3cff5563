CREATE TABLE stall (
    stall_id INTEGER PRIMARY KEY,
    stall_name TEXT NOT NULL,
    cuisine TEXT,
    opened INTEGER,
    rating REAL
);
CREATE TABLE dish (
    dish_id INTEGER PRIMARY KEY,
    stall_id INTEGER NOT NULL REFERENCES stall(stall_id),
    dish_name TEXT,
    price REAL,
    vegetarian TEXT,
    calories INTEGER
);
CREATE TABLE customer (
    customer_id INTEGER PRIMARY KEY,
    first_name TEXT,
    last_name TEXT,
    email TEXT
);
CREATE TABLE "order" (
    order_id INTEGER PRIMARY KEY,
    customer_id INTEGER REFERENCES customer(customer_id),
    dish_id INTEGER REFERENCES dish(dish_id),
    quantity INTEGER,
    order_date DATE,
    status TEXT
);
INSERT INTO stall VALUES
(1, 'Crêpe Corner', 'French', 2015, 4.6), (2, 'Taco Norte', 'Mexican', 2018, 4.2), (3, 'Phở Station', 'Vietnamese', 2012, 4.8),
(4, 'Currywurst König', 'German', 2009, 3.9), (5, 'Green Bowl', 'Vegan', 2021, 4.4), (6, 'El Chile', 'Mexican', 2020, NULL),
(7, 'Pierogi Hut', 'Polish', 2017, 4.1);
INSERT INTO dish VALUES
(1, 1, 'Crêpe au sucre', 4.5, 'yes', 320), (2, 1, 'Galette complète', 7.0, 'no', 540), (3, 2, 'Fish taco', 5.5, 'no', 410),
(4, 2, 'Bean taco', 4.8, 'yes', 380), (5, 2, 'Nachos', 6.2, 'yes', 720), (6, 3, 'Phở bò', 9.5, 'no', 610),
(7, 3, 'Summer rolls', 5.0, 'yes', 210), (8, 4, 'Currywurst', 5.2, 'no', 690), (9, 4, 'Pommes', 3.2, 'yes', 450),
(10, 5, 'Lentil bowl', 8.4, 'yes', 480), (11, 5, 'Tofu bowl', 8.9, 'yes', 520), (12, 6, 'Jalapeño burger', 9.9, 'no', 880),
(13, 6, 'Elote', 3.8, 'yes', 260), (14, 7, 'Cheese pierogi', 6.5, 'yes', 560);
INSERT INTO customer VALUES
(1, 'Ida', 'Lund', 'ida@post.example'), (2, 'René', 'Dubois', 'rene@mail.example'), (3, 'Marta', 'Nowak', NULL),
(4, 'Kwame', 'Boateng', 'kwame@mail.example'), (5, 'Julia', 'Groß', 'julia@post.example'), (6, 'Pablo', 'Núñez', NULL),
(7, 'Emi', 'Tanaka', 'emi@mail.example'), (8, 'Frank', 'Miller', 'frank@post.example');
INSERT INTO "order"
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 50)
SELECT i, 1 + (i * 3 + i / 5) % 7, 1 + i * 11 % 13, 1 + i * 3 % 4, date('2024-05-01', '+' || (i * 2) || ' days'),
       CASE i % 7 WHEN 0 THEN 'cancelled' WHEN 3 THEN 'pending' ELSE 'paid' END FROM n;
