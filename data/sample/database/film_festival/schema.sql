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
