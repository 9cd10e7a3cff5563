CREATE TABLE telescope (
    telescope_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    kind TEXT,
    mirror_cm INTEGER,
    built INTEGER
);
CREATE TABLE astronomer (
    astronomer_id INTEGER PRIMARY KEY,
    full_name TEXT NOT NULL,
    institute TEXT,
    country TEXT,
    papers INTEGER
);
CREATE TABLE target (
    target_id INTEGER PRIMARY KEY,
    name TEXT,
    type TEXT,
    distance_ly REAL
);
CREATE TABLE observation (
    observation_id INTEGER PRIMARY KEY,
    telescope_id INTEGER REFERENCES telescope(telescope_id),
    astronomer_id INTEGER REFERENCES astronomer(astronomer_id),
    target_id INTEGER REFERENCES target(target_id),
    night DATE,
    exposure_minutes INTEGER
);
INSERT INTO telescope VALUES
(1, 'Big Eye', 'optical', 410, 1998), (2, 'Señorita', 'optical', 120, 1974), (3, 'Long Wave', 'radio', 2500, 1986),
(4, 'Little Bear', 'optical', 60, 1951), (5, 'Dish Two', 'radio', 1800, 2007), (6, 'Hot Light', 'infrared', 230, 2018);
INSERT INTO astronomer VALUES
(1, 'Vera Lindh', 'Uppsala', 'Sweden', 84), (2, 'Ahmed Zaki', 'Cairo', 'Egypt', 41), (3, 'Júlia Prado', 'São Paulo', 'Brazil', 57),
(4, 'Karl Strauß', 'Heidelberg', 'Germany', 120), (5, 'Naomi Abe', 'Kyoto', 'Japan', 33), (6, 'Elsa Holm', 'Lund', 'Sweden', 12),
(7, 'Peter Kranz', 'Heidelberg', 'Germany', NULL), (8, 'Rosa Blanco', NULL, 'Spain', 5);
INSERT INTO target VALUES
(1, 'Vega', 'star', 25.0), (2, 'Ring Nebula', 'nebula', 2570.0), (3, 'Andromeda', 'galaxy', 2537000.0), (4, 'Jupiter', 'planet', NULL),
(5, 'Sirius', 'star', 8.6), (6, 'Whirlpool', 'galaxy', 31000000.0), (7, 'Saturn', 'planet', NULL), (8, 'Barnard Star', 'star', 5.96),
(9, 'Horsehead', 'nebula', 1375.0);
INSERT INTO observation
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 48)
SELECT i, 1 + (i * 3 + i / 4) % 5, 1 + i * 5 % 6, 1 + i * 7 % 8, date('2023-11-02', '+' || (i * 3) || ' days'), 15 + i * 11 % 46 * 5 FROM n;
