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
