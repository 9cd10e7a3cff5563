CREATE TABLE station (
    station_code TEXT PRIMARY KEY,
    station_name TEXT NOT NULL,
    region TEXT,
    platforms INTEGER,
    altitude INTEGER
);

CREATE TABLE train (
    train_no INTEGER PRIMARY KEY,
    train_name TEXT,
    origin TEXT REFERENCES station(station_code),
    destination TEXT REFERENCES station(station_code),
    seats INTEGER,
    max_speed INTEGER
);

CREATE TABLE driver (
    driver_id INTEGER PRIMARY KEY,
    driver_name TEXT NOT NULL,
    birth_date DATE,
    home_station TEXT REFERENCES station(station_code)
);

CREATE TABLE trip (
    trip_id INTEGER PRIMARY KEY,
    train_no INTEGER REFERENCES train(train_no),
    driver_id INTEGER REFERENCES driver(driver_id),
    trip_date DATE,
    delay_minutes INTEGER,
    passengers INTEGER
);

CREATE VIEW late_trip AS SELECT trip_id, train_no, trip_date, delay_minutes FROM trip WHERE delay_minutes >= 15;
