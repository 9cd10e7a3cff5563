CREATE TABLE teacher (
    teacher_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    instrument TEXT,
    hourly_rate INTEGER,
    since_year INTEGER
);
CREATE TABLE pupil (
    pupil_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    birthday DATE,
    "level" TEXT,
    town TEXT
);
CREATE TABLE "group" (
    group_id INTEGER PRIMARY KEY,
    group_name TEXT,
    teacher_id INTEGER REFERENCES teacher(teacher_id),
    room TEXT,
    max_size INTEGER
);
CREATE TABLE membership (
    pupil_id INTEGER REFERENCES pupil(pupil_id),
    group_id INTEGER REFERENCES "group"(group_id),
    fee INTEGER,
    PRIMARY KEY (pupil_id, group_id)
);
INSERT INTO teacher VALUES
(1, 'Olga Petrova', 'Piano', 48, 2008), (2, 'Björn Ek', 'Guitar', 36, 2016), (3, 'Alice Munroe', 'Violin', 52, 2011),
(4, 'Santiago Vega', 'Guitar', 40, 2013), (5, 'Françoise Noël', 'Flute', 45, 2019), (6, 'Kenji Mori', 'Drums', NULL, 2023),
(7, 'Ursula Groß', 'Piano', 55, 1999);
INSERT INTO pupil VALUES
(1, 'Adam Stone', '2010-05-12', 'beginner', 'Westwood'), (2, 'Beatriz Luz', '2008-11-03', 'advanced', 'Westwood'),
(3, 'Carl Jönsson', '2012-02-27', 'beginner', 'Ferndale'), (4, 'Daisy Webb', '2009-09-09', 'intermediate', 'Ferndale'),
(5, 'Elif Kaya', '2011-07-21', 'intermediate', 'Oak Hill'), (6, 'Felix Brandt', '2007-01-16', 'advanced', 'Oak Hill'),
(7, 'Gina Rossi', '2013-04-04', 'beginner', 'Westwood'), (8, 'Henri Caron', '2010-12-25', 'beginner', 'Oak Hill'),
(9, 'Isla Moore', '2006-06-30', 'advanced', 'Westwood'), (10, 'Jakub Zając', '2012-08-08', NULL, 'Ferndale'),
(11, 'Kira Olsen', '2011-03-15', 'advanced', 'Lowick'), (12, 'Liam Fox', '2009-10-19', 'beginner', 'Westwood'),
(13, 'Mona Said', '2013-12-01', 'beginner', 'Oak Hill');
INSERT INTO "group" VALUES
(1, 'Little Keys', 1, 'A1', 6), (2, 'Six Strings', 2, 'B2', 8), (3, 'Bow and Arrow', 3, 'A2', 5), (4, 'Chords Club', 4, 'B2', 10),
(5, 'Morning Flutes', 5, 'C1', 4), (6, 'Grand Piano', 1, 'A1', 3), (7, 'Empty Stage', NULL, 'D4', 12);
INSERT OR IGNORE INTO membership
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 30)
SELECT 1 + i * 5 % 12, 1 + (i * 3 + i / 5) % 6, 60 + i * 7 % 5 * 15 FROM n;
