CREATE TABLE docking_station (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    district TEXT,
    docks INTEGER,
    opened DATE
);

CREATE TABLE bike (
    id INTEGER PRIMARY KEY,
    model TEXT,
    electric TEXT,
    bought_year INTEGER,
    station_id INTEGER REFERENCES docking_station(id)
);

CREATE TABLE rider (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    age INTEGER,
    plan TEXT
);

CREATE TABLE ride (
    id INTEGER PRIMARY KEY,
    bike_id INTEGER REFERENCES bike(id),
    rider_id INTEGER REFERENCES rider(id),
    from_station_id INTEGER REFERENCES docking_station(id),
    ride_date DATE,
    minutes INTEGER,
    distance_km REAL
);
