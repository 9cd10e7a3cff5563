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
