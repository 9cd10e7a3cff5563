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
INSERT INTO station VALUES
('ALB', 'Albrück', 'South', 4, 310), ('BEL', 'Belval', 'West', 6, 288), ('CHA', 'Château Noir', 'West', 2, 455),
('DOR', 'Dornach', 'South', 8, 292), ('EST', 'Estação Velha', 'East', 3, 35), ('FEL', 'Feldkirch', 'East', 5, 458),
('GRU', 'Grünau', 'North', 1, 528);
INSERT INTO train VALUES
(101, 'Blue Arrow', 'ALB', 'DOR', 420, 230), (102, 'Night Owl', 'BEL', 'EST', 260, 160), (103, 'Alpine Star', 'DOR', 'FEL', 380, 200),
(204, 'Coast Runner', 'EST', 'BEL', 310, 180), (205, 'Vineyard', 'CHA', 'BEL', 120, 120), (206, NULL, 'ALB', 'CHA', 90, 110),
(307, 'Silver Fox', 'DOR', 'ALB', 450, 250), (308, 'Spare Set', NULL, NULL, 200, 140);
INSERT INTO driver VALUES
(1, 'Gaëlle Simon', '1980-04-17', 'ALB'), (2, 'Otto Weiß', '1966-12-01', 'DOR'), (3, 'Lúcia Matos', '1991-08-23', 'EST'),
(4, 'Henrik Dahl', '1975-02-10', 'DOR'), (5, 'Fatou Diallo', '1988-06-06', 'BEL'), (6, 'Ben Archer', '1999-10-30', NULL);
INSERT INTO trip
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 56)
SELECT i, CASE i % 6 WHEN 0 THEN 101 WHEN 1 THEN 102 WHEN 2 THEN 103 WHEN 3 THEN 204 WHEN 4 THEN 205 ELSE 307 END,
       1 + (i * 3 + i / 6) % 5, date('2024-01-08', '+' || (i * 2) || ' days'), i * 7 % 23, 40 + i * 19 % 97 FROM n;
