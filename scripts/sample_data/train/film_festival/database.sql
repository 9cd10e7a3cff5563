CREATE TABLE director (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    nationality TEXT,
    born DATE
);
CREATE TABLE film (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    director_id INTEGER REFERENCES director(id),
    language TEXT,
    minutes INTEGER,
    budget_millions REAL
);
CREATE TABLE cinema (
    id INTEGER PRIMARY KEY,
    name TEXT,
    seats INTEGER,
    district TEXT
);
CREATE TABLE screening (
    id INTEGER PRIMARY KEY,
    film_id INTEGER NOT NULL REFERENCES film(id),
    cinema_id INTEGER NOT NULL REFERENCES cinema(id),
    starts_at DATETIME,
    tickets_sold INTEGER
);
CREATE TABLE award (
    id INTEGER PRIMARY KEY,
    award_name TEXT,
    film_id INTEGER REFERENCES film(id)
);
INSERT INTO director VALUES
(1, 'Claire Benoît', 'French', '1968-03-02'), (2, 'Yusuf Demir', 'Turkish', '1975-11-19'), (3, 'Ingrid Solberg', 'Norwegian', '1982-05-08'),
(4, 'Raúl Campos', 'Mexican', '1959-01-27'), (5, 'Mei Lin', 'Chinese', '1990-08-14'), (6, 'Paul Girard', 'French', '1979-12-30'),
(7, 'Anaïs Roche', 'French', NULL);
INSERT INTO film VALUES
(1, 'La Dernière Gare', 1, 'French', 104, 6.2), (2, 'Ember Coast', 3, 'Norwegian', 96, 3.1), (3, 'The Salt Market', 2, 'Turkish', 131, 4.8),
(4, 'Polvo', 4, 'Spanish', 88, 1.9), (5, 'Seven Kites', 5, 'Chinese', 118, 9.4), (6, 'Le Café Bleu', 6, 'French', 92, 2.7),
(7, 'Northern Line', 3, 'English', 110, 5.5), (8, 'Río Arriba', 4, 'Spanish', 125, 3.6), (9, 'Quiet Machines', 5, 'English', 141, 12.0),
(10, 'Été Perdu', 1, 'French', 79, NULL), (11, 'Short Circuit', 2, 'English', 22, 0.3), (12, 'Two Moons', NULL, 'English', 18, 0.1);
INSERT INTO cinema VALUES
(1, 'Lumière', 320, 'Centre'), (2, 'Odeon Garden', 180, 'West'), (3, 'Astra', 450, 'Centre'), (4, 'Kino Süd', 95, 'South'), (5, 'Rex', 140, 'North');
INSERT INTO screening
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40)
SELECT i, 1 + i * 7 % 11, 1 + (i * 3 + i / 5) % 4, datetime('2024-09-06 14:00', '+' || (i * 5) || ' hours'), 30 + i * 17 % 63 FROM n;
INSERT INTO award VALUES
(1, 'Golden Reel', 5), (2, 'Best Script', 1), (3, 'Audience Prize', 5), (4, 'Best Short', 11), (5, 'Best Camera', 2), (6, 'Jury Prize', 8), (7, 'Lost Prize', NULL);
