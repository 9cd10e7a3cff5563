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
