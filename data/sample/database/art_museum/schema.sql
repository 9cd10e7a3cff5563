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
