-- How many teams are in the league?
-- Count the teams.
SELECT count(*) FROM team

-- How many players are there in total?
-- What is the number of players?
SELECT count(*) FROM player

-- @position = Goalkeeper | Forward | Defender
-- What are the names of the players whose position is {position}?
-- List every {position} by name.
SELECT player_name FROM player WHERE position = '{position}'

-- List the names and cities of all teams.
-- Show each team's name and city.
SELECT team_name , city FROM team

-- @height = 180 | 185
-- How many players are taller than {height}?
-- Count the players with a height above {height}.
SELECT count(*) FROM player WHERE height > {height}

-- Show the names of the teams from the oldest to the youngest.
-- List team names ordered by the year they were founded.
SELECT team_name FROM team ORDER BY founded

-- What are the different positions of players?
-- List the distinct player positions.
SELECT DISTINCT position FROM player

-- What is the average salary of the players?
-- How much does a player earn on average?
SELECT avg(salary) FROM player

-- What is the average height of each position?
-- For each position, show the average height of the players.
SELECT position , avg(height) FROM player GROUP BY position

-- How many players are there in each position?
-- Show the positions and the number of players in each.
SELECT position , count(*) FROM player GROUP BY position

-- What are the highest and the lowest salary of a {position}?
-- For the position {position}, find the maximum and minimum salary.
-- @position = Forward | Midfielder
SELECT max(salary) , min(salary) FROM player WHERE position = '{position}'

-- Who is the tallest player?
-- What is the name of the player with the greatest height?
SELECT player_name FROM player ORDER BY height DESC LIMIT 1

-- What is the name of the youngest player?
-- Which player was born last? Show the name.
SELECT player_name FROM player ORDER BY birth_date DESC LIMIT 1

-- What are the names of the 3 best paid players?
-- Show the three players with the highest salary.
SELECT player_name FROM player ORDER BY salary DESC LIMIT 3

-- @team = Harbour United | Atlético Cádiz
-- What are the names of the players of {team}?
-- Who plays for {team}? Show the player names.
SELECT T1.player_name FROM player AS T1 JOIN team AS T2 ON T1.team_id = T2.team_id WHERE T2.team_name = '{team}'

-- Show the name of every player together with the name of the team.
-- List player names and their team names.
SELECT T1.player_name , T2.team_name FROM player AS T1 JOIN team AS T2 ON T1.team_id = T2.team_id

-- How many players does each team have? Show the team name and the count.
-- For every team with players, give the name and the number of players.
SELECT T2.team_name , count(*) FROM player AS T1 JOIN team AS T2 ON T1.team_id = T2.team_id GROUP BY T2.team_id

-- Which teams have at least 3 players? Give their names.
-- Find the names of teams with three or more players.
SELECT T2.team_name FROM player AS T1 JOIN team AS T2 ON T1.team_id = T2.team_id GROUP BY T2.team_id HAVING count(*) >= 3

-- Which teams have no players?
-- Find the names of teams without any player.
SELECT team_name FROM team WHERE team_id NOT IN (SELECT team_id FROM player WHERE team_id IS NOT NULL)

-- Which player does not belong to a team?
-- Show the names of players without a team.
SELECT player_name FROM player WHERE team_id IS NULL

-- Which players earn more than the average? Show their names.
-- List the names of players whose salary is above the average salary.
SELECT player_name FROM player WHERE salary > (SELECT avg(salary) FROM player)

-- What are the names of the teams with 'Rovers' in their name?
-- Which team names contain 'Rovers'?
SELECT team_name FROM team WHERE team_name LIKE '%Rovers%'

-- Which cities have more than one team?
-- Find the city where at least two teams play.
SELECT city FROM team GROUP BY city HAVING count(*) > 1

-- How many games ended in a draw?
-- Count the games where both teams scored the same number of goals.
SELECT count(*) FROM game WHERE home_goals = away_goals

-- How many goals did the home teams score in total?
-- What is the sum of all home goals?
SELECT sum(home_goals) FROM game

-- What is the largest attendance of a game?
-- Find the maximum attendance over all games.
SELECT max(attendance) FROM game

-- How many players were born before {year}?
-- Count the players with a birth date before the start of {year}.
-- @year = 1995 | 2000
SELECT count(*) FROM player WHERE birth_date < '{year}-01-01'

-- How many home games did {team} play?
-- Count the games that {team} played at home.
-- @team = Real Ávila | Northside Rovers
SELECT count(*) FROM game AS T1 JOIN team AS T2 ON T1.home_team_id = T2.team_id WHERE T2.team_name = '{team}'

-- Which players are a Forward or earn less than 40000? Show the names.
-- List the names of players who play as Forward or have a salary below 40000.
SELECT player_name FROM player WHERE position = 'Forward' OR salary < 40000

-- Which teams have both a Goalkeeper and a Defender? Show the team names.
-- Find the names of teams that have a Goalkeeper as well as a Defender.
SELECT T2.team_name FROM player AS T1 JOIN team AS T2 ON T1.team_id = T2.team_id WHERE T1.position = 'Goalkeeper' INTERSECT SELECT T2.team_name FROM player AS T1 JOIN team AS T2 ON T1.team_id = T2.team_id WHERE T1.position = 'Defender'

-- @absence
-- Which players are shorter than 165?
-- Give the names of players with a height under 165.
SELECT player_name FROM player WHERE height < 165
