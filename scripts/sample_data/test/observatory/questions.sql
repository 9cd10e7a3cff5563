-- How many telescopes are there?
-- Count the telescopes.
SELECT count(*) FROM telescope

-- What are the full names and institutes of all astronomers?
-- Show each astronomer's full name and institute.
SELECT full_name , institute FROM astronomer

-- What are the names of the optical telescopes?
-- Which telescopes are of the kind optical? Show their names.
SELECT name FROM telescope WHERE kind = 'optical'

-- How many telescopes were built after 1980?
-- Count the telescopes that were built later than 1980.
SELECT count(*) FROM telescope WHERE built > 1980

-- List the names of the telescopes from the largest mirror to the smallest.
-- Show the telescope names by mirror size in descending order.
SELECT name FROM telescope ORDER BY mirror_cm DESC

-- What are the different types of targets?
-- List the distinct target types.
SELECT DISTINCT type FROM target

-- From how many different countries are the astronomers?
-- Count the distinct countries of astronomers.
SELECT count(DISTINCT country) FROM astronomer

-- What is the average number of papers of an astronomer?
-- How many papers does an astronomer have on average?
SELECT avg(papers) FROM astronomer

-- What are the shortest, the longest and the average exposure of the observations in minutes?
-- Find the minimum, maximum and mean exposure minutes.
SELECT min(exposure_minutes) , max(exposure_minutes) , avg(exposure_minutes) FROM observation

-- What is the name of the oldest telescope?
-- Which telescope was built first? Show its name.
SELECT name FROM telescope ORDER BY built LIMIT 1

-- What are the full names of the two astronomers with the most papers?
-- Show the full names of the top 2 astronomers by number of papers.
SELECT full_name FROM astronomer ORDER BY papers DESC LIMIT 2

-- How many telescopes are there of each kind?
-- Show each kind of telescope and the number of telescopes.
SELECT kind , count(*) FROM telescope GROUP BY kind

-- Which country do at least two astronomers come from?
-- Find the countries with 2 or more astronomers.
SELECT country FROM astronomer GROUP BY country HAVING count(*) >= 2

-- On which nights was the telescope Big Eye used?
-- Show the nights of the observations made with Big Eye.
SELECT T1.night FROM observation AS T1 JOIN telescope AS T2 ON T1.telescope_id = T2.telescope_id WHERE T2.name = 'Big Eye'

-- How many observations did each astronomer make? Show the full name and the count.
-- For every astronomer with observations, give the full name and the number of observations.
SELECT T2.full_name , count(*) FROM observation AS T1 JOIN astronomer AS T2 ON T1.astronomer_id = T2.astronomer_id GROUP BY T2.astronomer_id

-- Which astronomers made no observation? Show the full names.
-- What are the full names of the astronomers without any observation?
SELECT full_name FROM astronomer WHERE astronomer_id NOT IN (SELECT astronomer_id FROM observation)

-- Which targets have an unknown distance? Show the names.
-- What are the names of targets without a distance?
SELECT name FROM target WHERE distance_ly IS NULL

-- Which stars are closer than 10 light years? Show their names.
-- Show the names of the targets of type star with a distance below 10.
SELECT name FROM target WHERE type = 'star' AND distance_ly < 10

-- How many observations were made in December 2023?
-- Count the observations whose night is between 2023-12-01 and 2023-12-31.
SELECT count(*) FROM observation WHERE night BETWEEN '2023-12-01' AND '2023-12-31'

-- Which targets did Vera Lindh observe? Show the distinct names.
-- What are the different names of the targets observed by Vera Lindh?
SELECT DISTINCT T3.name FROM astronomer AS T1 JOIN observation AS T2 ON T1.astronomer_id = T2.astronomer_id JOIN target AS T3 ON T2.target_id = T3.target_id WHERE T1.full_name = 'Vera Lindh'

-- Which telescope made the most observations? Show its name.
-- What is the name of the telescope with the largest number of observations?
SELECT T1.name FROM telescope AS T1 JOIN observation AS T2 ON T1.telescope_id = T2.telescope_id GROUP BY T1.telescope_id ORDER BY count(*) DESC LIMIT 1
