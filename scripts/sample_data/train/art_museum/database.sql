CREATE TABLE Artist (
    ArtistId INTEGER PRIMARY KEY,
    FullName TEXT NOT NULL,
    Country TEXT,
    BirthYear INTEGER,
    DeathYear INTEGER
);
CREATE TABLE Room (
    RoomNo INTEGER PRIMARY KEY,
    Floor INTEGER,
    Theme TEXT
);
CREATE TABLE Artwork (
    ArtworkId INTEGER PRIMARY KEY,
    Title TEXT NOT NULL,
    ArtistId INTEGER REFERENCES Artist(ArtistId),
    RoomNo INTEGER REFERENCES Room(RoomNo),
    Medium TEXT,
    YearMade INTEGER,
    InsuredValue INTEGER
);
CREATE TABLE Visitor_Day (
    Day DATE PRIMARY KEY,
    Adults INTEGER,
    Children INTEGER,
    Weather TEXT
);
CREATE VIEW Artwork_On_Show AS
SELECT Artwork.ArtworkId, Artwork.Title, Artist.FullName, Artwork.RoomNo
FROM Artwork JOIN Artist ON Artwork.ArtistId = Artist.ArtistId WHERE Artwork.RoomNo IS NOT NULL;
INSERT INTO Artist VALUES
(1, 'Margarethe Löwe', 'Germany', 1862, 1931), (2, 'Tomás Arrieta', 'Spain', 1898, 1974), (3, 'Violette Duchêne', 'France', 1911, 1999),
(4, 'Ewa Sikorska', 'Poland', 1954, NULL), (5, 'Henry Ashdown', 'England', 1840, 1902), (6, 'Nuno Esteves', 'Portugal', 1970, NULL),
(7, 'Amélie Roux', 'France', 1885, 1943), (8, 'Kazuo Hara', 'Japan', 1948, NULL);
INSERT INTO Room VALUES (1, 0, 'Landscapes'), (2, 0, 'Portraits'), (3, 1, 'Modern'), (4, 1, 'Sculpture'), (5, 2, 'Photography'), (6, 2, NULL);
INSERT INTO Artwork VALUES
(1, 'Harvest Evening', 5, 1, 'oil', 1876, 420000), (2, 'The Ferry at Dawn', 5, 1, 'oil', 1881, 510000),
(3, 'Girl with Quince', 1, 2, 'oil', 1899, 365000), (4, 'Frau Größe', 1, 2, 'pastel', 1907, 128000),
(5, 'Plaza Vacía', 2, 3, 'oil', 1937, 880000), (6, 'Three Bottles', 2, 3, 'watercolour', 1952, 95000),
(7, 'Nœud Rouge', 3, 3, 'collage', 1961, 240000), (8, 'Torso', 7, 4, 'bronze', 1920, 610000),
(9, 'Sleeping Cat', 7, 4, 'marble', 1928, 335000), (10, 'Gdańsk, Rain', 4, 5, 'photograph', 1988, 42000),
(11, 'Shipyard Gate', 4, 5, 'photograph', 1981, 57000), (12, 'Low Tide', 6, NULL, 'oil', 2009, 73000),
(13, 'Untitled', NULL, NULL, 'bronze', NULL, NULL), (14, 'Marais', 3, 1, 'watercolour', 1949, 61000), (15, 'Salt Workers', 6, 3, 'oil', 2014, 89000);
INSERT INTO Visitor_Day
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
SELECT date('2024-06-30', '+' || i || ' days'), 80 + i * 37 % 211, 10 + i * 23 % 91, CASE i % 5 WHEN 0 THEN 'rain' WHEN 3 THEN 'cloud' ELSE 'sun' END FROM n;
