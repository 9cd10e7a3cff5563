CREATE TABLE team (
    team_id INTEGER PRIMARY KEY,
    team_name TEXT NOT NULL,
    city TEXT,
    founded INTEGER,
    stadium_capacity INTEGER
);
CREATE TABLE player (
    player_id INTEGER PRIMARY KEY,
    player_name TEXT NOT NULL,
    team_id INTEGER REFERENCES team(team_id),
    position TEXT,
    height INTEGER,
    birth_date DATE,
    salary INTEGER
);
CREATE TABLE game (
    game_id INTEGER PRIMARY KEY,
    home_team_id INTEGER REFERENCES team(team_id),
    away_team_id INTEGER REFERENCES team(team_id),
    game_date DATE,
    home_goals INTEGER,
    away_goals INTEGER,
    attendance INTEGER
);
INSERT INTO team VALUES
(1, 'Harbour United', 'Porto Velho', 1902, 31000), (2, 'FC Köln-Süd', 'Cologne', 1921, 18500),
(3, 'Real Ávila', 'Ávila', 1947, 12400), (4, 'Northside Rovers', 'Belfast', 1888, 22000),
(5, 'Olympic Malmö', 'Malmö', 1910, 24500), (6, 'Southside Rovers', 'Belfast', 1899, 15200),
(7, 'Atlético Cádiz', 'Cádiz', 1953, 19800), (8, 'New Dynamo', NULL, 2021, 5000);
INSERT INTO player VALUES
(1, 'Rui Matos', 1, 'Goalkeeper', 191, '1994-02-11', 52000), (2, 'Tiago Lima', 1, 'Forward', 178, '1999-07-30', 88000),
(3, 'Jonas Krämer', 2, 'Defender', 186, '1992-12-05', 47000), (4, 'Max Böhm', 2, 'Midfielder', 175, '2001-03-19', 39000),
(5, 'Iker Solís', 3, 'Forward', 182, '1997-09-08', 61000), (6, 'Pau Ferrer', 3, 'Defender', 184, '1995-05-27', 43000),
(7, 'Conor Walsh', 4, 'Midfielder', 173, '1998-01-15', 58000), (8, 'Liam Byrne', 4, 'Goalkeeper', 194, '1990-10-22', 49000),
(9, 'Nils Åberg', 5, 'Forward', 188, '2000-06-03', 73000), (10, 'Erik Lindqvist', 5, 'Defender', 190, '1993-04-09', 55000),
(11, 'Sean Doherty', 6, 'Midfielder', 170, '2003-08-17', 31000), (12, 'Owen Kerr', 6, 'Forward', 180, '1996-11-28', 45000),
(13, 'Álvaro Peña', 7, 'Midfielder', 177, '2002-02-02', 36000), (14, 'Mateo Ruiz', 7, 'Goalkeeper', 189, '1997-12-24', 41000),
(15, 'Hugo Blanc', 7, 'Defender', 183, '1991-07-07', 50000), (16, 'Kofi Mensah', NULL, 'Forward', 181, '2004-04-21', NULL),
(17, 'Anton Berg', 5, 'Midfielder', 179, '1999-01-31', 64000), (18, 'Diego Prado', 1, 'Midfielder', 174, '1995-08-14', 70000);
INSERT INTO game
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 42)
SELECT i, 1 + i % 7, 1 + (i % 7 + 1 + i / 7) % 7, date('2023-08-05', '+' || (i / 3 * 7) || ' days'), i * 11 % 5, i * 5 % 4,
       4000 + i * 977 % 14000 FROM n;
