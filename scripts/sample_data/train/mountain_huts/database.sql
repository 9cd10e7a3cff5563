CREATE TABLE Region (
    Region_ID INTEGER PRIMARY KEY,
    Name TEXT NOT NULL,
    Country TEXT NOT NULL
);
CREATE TABLE Hut (
    Hut_ID INTEGER PRIMARY KEY,
    Name TEXT NOT NULL,
    Region_ID INTEGER NOT NULL,
    Altitude INTEGER,
    Beds INTEGER,
    Opened_Year INTEGER,
    Has_Shower TEXT,
    FOREIGN KEY (Region_ID) REFERENCES Region(Region_ID)
);
CREATE TABLE Warden (
    Warden_ID INTEGER PRIMARY KEY,
    Name TEXT,
    Age INTEGER,
    Hut_ID INTEGER,
    FOREIGN KEY (Hut_ID) REFERENCES Hut(Hut_ID)
);
CREATE TABLE Booking (
    Booking_ID INTEGER PRIMARY KEY,
    Hut_ID INTEGER NOT NULL,
    Guest_Name TEXT,
    Arrival DATE,
    Nights INTEGER,
    Guests INTEGER,
    FOREIGN KEY (Hut_ID) REFERENCES Hut(Hut_ID)
);
CREATE VIEW High_Huts AS SELECT Hut_ID, Name, Altitude FROM Hut WHERE Altitude >= 2500;
INSERT INTO Region VALUES
(1, 'Ötztal', 'Austria'), (2, 'Wallis', 'Switzerland'), (3, 'Dolomiti', 'Italy'), (4, 'Graubünden', 'Switzerland'),
(5, 'Allgäu', 'Germany'), (6, 'Tatry', 'Poland');
INSERT INTO Hut VALUES
(1, 'Gletscherblick', 1, 2850, 60, 1927, 'no'), (2, 'Weißkarhaus', 1, 2410, 44, 1953, 'yes'),
(3, 'Cabane du Vélan', 2, 2642, 72, 1993, 'no'), (4, 'Obere Matte', 2, 2190, 38, 1961, 'yes'),
(5, 'Rifugio Tre Cime', 3, 2405, 120, 1935, 'yes'), (6, 'Rifugio Alba', 3, 2066, 54, 1978, 'yes'),
(7, 'Chamanna Bügls', 4, 2317, 40, 1984, NULL), (8, 'Sonnenalm', 5, 1540, 90, 2004, 'yes'),
(9, 'Gipfelruh', 5, 2084, 26, 1912, 'no'), (10, 'Rifugio Stella', 3, 2752, 30, 1949, 'no'),
(11, 'Edelrautenhaus', 1, 1980, 66, 1999, 'yes');
INSERT INTO Warden VALUES
(1, 'Käthe Auer', 58, 1), (2, 'Sepp Gruber', 44, 2), (3, 'Élodie Favre', 36, 3), (4, 'Marco Dibona', 51, 5),
(5, 'Lucia Ploner', 29, 6), (6, 'Reto Caduff', 63, 7), (7, 'Anna Huber', 33, 8), (8, 'Josef Huber', 61, 8),
(9, 'Piotr Gąsienica', 40, NULL), (10, 'Franz Moser', 47, 11);
INSERT INTO Booking
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 44)
SELECT i, 1 + i * 7 % 10, substr('Ada Ben Cem Dan Eva Finn Gil Ivo ', 1 + i % 5 * 4, 3), date('2023-06-15', '+' || ((i * 3 + i / 5) % 90) || ' days'),
       1 + i * 5 % 6, 1 + i * 3 % 8 FROM n;
