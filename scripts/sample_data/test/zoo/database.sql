CREATE TABLE species (
    species_id INTEGER PRIMARY KEY,
    common_name TEXT NOT NULL,
    continent TEXT,
    diet TEXT,
    endangered TEXT
);
CREATE TABLE keeper (
    keeper_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    age INTEGER,
    start_date DATE
);
CREATE TABLE animal (
    animal_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    species_id INTEGER REFERENCES species(species_id),
    keeper_id INTEGER REFERENCES keeper(keeper_id),
    sex TEXT,
    weight REAL,
    birth_year INTEGER
);
CREATE TABLE feeding (
    feeding_id INTEGER PRIMARY KEY,
    animal_id INTEGER REFERENCES animal(animal_id),
    food TEXT,
    kilograms REAL,
    fed_on DATE
);
INSERT INTO species VALUES
(1, 'Lion', 'Africa', 'carnivore', 'yes'), (2, 'Giraffe', 'Africa', 'herbivore', 'yes'), (3, 'Red panda', 'Asia', 'herbivore', 'yes'),
(4, 'Brown bear', 'Europe', 'omnivore', 'no'), (5, 'Emu', 'Australia', 'omnivore', 'no'), (6, 'Grey wolf', 'Europe', 'carnivore', 'no'),
(7, 'Axolotl', 'America', 'carnivore', 'yes');
INSERT INTO keeper VALUES
(1, 'Marlène Faure', 41, '2009-05-01'), (2, 'Dieter Schloß', 57, '1996-10-15'), (3, 'Amina Yusuf', 28, '2020-02-03'),
(4, 'Iñigo Vidal', 35, '2015-07-20'), (5, 'Beth Nolan', 23, '2023-06-12');
INSERT INTO animal VALUES
(1, 'Simba', 1, 1, 'M', 182.5, 2014), (2, 'Asha', 1, 1, 'F', 131.0, 2016), (3, 'Stretch', 2, 2, 'M', 1120.0, 2010),
(4, 'Dotty', 2, 2, 'F', 830.0, 2013), (5, 'Maple', 3, 3, 'F', 5.2, 2019), (6, 'Rusty', 3, 3, 'M', 5.9, 2020),
(7, 'Bruno', 4, 4, 'M', 310.0, 2008), (8, 'Olga', 4, 4, 'F', 205.5, 2011), (9, 'Skippy', 5, 3, 'M', 41.0, 2018),
(10, 'Luna', 6, 3, 'F', 38.5, 2017), (11, 'Fenrir', 6, 1, 'M', 47.0, 2015), (12, 'Kiki', 3, NULL, 'F', NULL, 2024),
(13, 'Twiga', 2, 2, 'F', 690.0, 2021);
INSERT INTO feeding
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 45)
SELECT i, 1 + i * 5 % 11, CASE i % 4 WHEN 0 THEN 'meat' WHEN 1 THEN 'leaves' WHEN 2 THEN 'fruit' ELSE 'hay' END,
       0.5 * (1 + i * 7 % 12), date('2024-02-26', '+' || i || ' days') FROM n;
