CREATE TABLE play (
    id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    playwright TEXT,
    genre TEXT,
    acts INTEGER,
    premiere DATE
);
CREATE TABLE actor (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    nationality TEXT,
    age INTEGER
);
CREATE TABLE casting (
    play_id INTEGER REFERENCES play(id),
    actor_id INTEGER REFERENCES actor(id),
    "role" TEXT,
    PRIMARY KEY (play_id, actor_id)
);
CREATE TABLE performance (
    id INTEGER PRIMARY KEY,
    play_id INTEGER REFERENCES play(id),
    performed_on DATE,
    tickets INTEGER,
    price REAL
);
INSERT INTO play VALUES
(1, 'The Glass Garden', 'Edith Rowan', 'drama', 3, '1958-10-02'), (2, 'Uncle Öztürk', 'Selim Aksoy', 'comedy', 2, '1987-03-21'),
(3, 'Storm at Noon', 'Edith Rowan', 'tragedy', 5, '1949-01-15'), (4, 'La Señora del Faro', 'Inés Mora', 'drama', 4, '2003-05-30'),
(5, 'Three Doors', 'Gaston Béranger', 'comedy', 3, '1912-11-08'), (6, 'The Empty Chair', NULL, 'drama', 1, '2020-02-14'),
(7, 'Fools and Kings', 'Gaston Béranger', 'comedy', 2, '1921-09-17');
INSERT INTO actor VALUES
(1, 'Judith Hale', 'Scottish', 52), (2, 'Émile Garnier', 'French', 37), (3, 'Petra Groß', 'German', 44), (4, 'Samir Nasser', 'Scottish', 29),
(5, 'Lola Ibarra', 'Spanish', 33), (6, 'Tom Whitfield', 'Scottish', 61), (7, 'Noémie Caron', 'French', 24), (8, 'Jan Kowalski', 'Polish', NULL);
INSERT INTO casting VALUES
(1, 1, 'Lady Ash'), (1, 4, 'Edwin'), (1, 6, 'The Judge'), (2, 4, 'Murat'), (2, 3, 'Aunt Leyla'), (3, 1, 'The Widow'), (3, 6, 'Captain Rook'),
(4, 5, 'Carmen'), (4, 2, 'The Doctor'), (5, 2, 'First Door'), (5, 7, 'Second Door'), (5, 3, 'Third Door'), (6, 7, NULL), (4, 3, 'The Nurse');
INSERT INTO performance
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 38)
SELECT i, 1 + (i * 5 + i / 6) % 6, date('2024-09-20', '+' || (i * 4) || ' days'), 60 + i * 23 % 141, 18.5 + i * 3 % 5 * 4 FROM n;
