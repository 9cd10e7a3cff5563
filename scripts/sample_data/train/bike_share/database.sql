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
INSERT INTO docking_station VALUES
(1, 'Town Hall', 'Centre', 24, '2016-04-01'), (2, 'Opéra', 'Centre', 30, '2016-04-02'), (3, 'South Gate', 'South', 16, '2017-06-15'),
(4, 'Universität', 'North', 28, '2018-09-01'), (5, 'Harbour', 'East', 20, '2019-05-20'), (6, 'Stadium', 'East', 12, '2021-03-10'),
(7, 'Botanical Garden', 'North', 10, '2023-08-30');
INSERT INTO bike VALUES
(1, 'City', 'no', 2018, 1), (2, 'City', 'no', 2018, 2), (3, 'Volt', 'yes', 2021, 1), (4, 'Volt', 'yes', 2022, 4), (5, 'Cargo', 'yes', 2020, 5),
(6, 'City', 'no', 2019, 3), (7, 'Cargo', 'no', 2017, NULL), (8, 'Volt', 'yes', 2023, 2), (9, 'Swift', 'no', 2021, 4), (10, 'City', 'no', 2016, 5),
(11, 'Swift', 'no', 2022, 1), (12, 'City', 'no', 2019, NULL);
INSERT INTO rider VALUES
(1, 'Anouk Meyer', 24, 'year'), (2, 'Boris Ivanov', 41, 'month'), (3, 'Cécile Blanc', 35, 'year'), (4, 'Dmitri Sokol', 19, 'day'),
(5, 'Esra Yıldız', 28, 'year'), (6, 'Fergus Reid', 63, 'month'), (7, 'Gül Aydın', 31, 'day'), (8, 'Hugh Lane', 52, NULL),
(9, 'Ines Prieto', 22, 'year'), (10, 'Jens Böll', 47, 'month');
INSERT INTO ride
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 58)
SELECT i, 1 + i * 7 % 11, 1 + (i * 4 + i / 7) % 9, 1 + (i * 3 + i / 5) % 6, date('2024-04-10', '+' || (i * 2) || ' days'),
       4 + i * 17 % 53, 0.5 + (i * 13 % 29) * 0.25 FROM n;
