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
