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
