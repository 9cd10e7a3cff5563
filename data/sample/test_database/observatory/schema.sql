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
