CREATE TABLE Branch (
    Branch_Id INTEGER PRIMARY KEY,
    Branch_Name TEXT NOT NULL,
    City TEXT,
    Opening_Year INTEGER,
    Staff INTEGER
);
CREATE TABLE Product (
    Product_Id INTEGER PRIMARY KEY,
    Product_Name TEXT NOT NULL,
    "Group" TEXT,
    Price REAL,
    Weight_Grams INTEGER
);
CREATE TABLE Baker (
    Baker_Id INTEGER PRIMARY KEY,
    Name TEXT NOT NULL,
    Branch_Id INTEGER REFERENCES Branch(Branch_Id),
    Salary INTEGER,
    Hired DATE
);
CREATE TABLE Sale (
    Sale_Id INTEGER PRIMARY KEY,
    Branch_Id INTEGER REFERENCES Branch(Branch_Id),
    Product_Id INTEGER REFERENCES Product(Product_Id),
    Sale_Date DATE,
    Pieces INTEGER
);
INSERT INTO Branch VALUES
(1, 'Old Mill', 'Graz', 1987, 14), (2, 'Station', 'Graz', 1979, 9), (3, 'Marktplatz', 'Linz', 1996, 12),
(4, 'Riverside', 'Salzburg', 2014, 7), (5, 'University', 'Linz', 2019, 5), (6, 'Airport', 'Vienna', 2023, 4);
INSERT INTO Product VALUES
(1, 'Rye loaf', 'Bread', 4.2, 1000), (2, 'Baguette', 'Bread', 2.6, 250), (3, 'Croissant', 'Pastry', 1.9, 70),
(4, 'Apple strudel', 'Cake', 3.8, 160), (5, 'Sachertorte', 'Cake', 5.4, 140), (6, 'Poppy seed roll', 'Pastry', 2.2, 90),
(7, 'Spelt loaf', 'Bread', 5.1, 750), (8, 'Éclair', 'Pastry', 3.1, 95), (9, 'Sugar-free muffin', NULL, 2.9, 110),
(10, 'Cheese cake', 'Cake', 4.5, 150);
INSERT INTO Baker VALUES
(1, 'Hans Größl', 1, 38500, '2001-03-12'), (2, 'Mirela Ionescu', 1, 34200, '2016-08-01'), (3, 'Toni Berger', 2, 33100, '2018-01-15'),
(4, 'Chloé Martin', 3, 39900, '2009-11-09'), (5, 'Jakob Wimmer', 3, 31400, '2021-05-31'), (6, 'Sara Hadžić', 4, 35000, '2014-04-07'),
(7, 'Paul Egger', 5, 29800, '2022-09-19'), (8, 'Nina Ortner', NULL, 28500, '2024-01-02');
INSERT INTO Sale
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 52)
SELECT i, 1 + (i % 9 * 2 + i / 27) % 5, 1 + i * 7 % 9, date('2024-03-01', '+' || i || ' days'), 3 + i * 13 % 37 FROM n;
