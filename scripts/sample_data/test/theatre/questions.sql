-- How many plays are there?
-- Count the plays.
SELECT count(*) FROM play

-- How many performances were given?
-- What is the total number of performances?
SELECT count(*) FROM performance

-- What are the names and nationalities of the actors?
-- List every actor's name and nationality.
SELECT name , nationality FROM actor

-- Which plays are a comedy? Show the titles.
-- What are the titles of the plays in the genre comedy?
SELECT title FROM play WHERE genre = 'comedy'

-- How many actors are older than 40?
-- Count the actors above the age of 40.
SELECT count(*) FROM actor WHERE age > 40

-- List the titles of the plays by the date of their premiere.
-- Show the play titles from the earliest to the latest premiere.
SELECT title FROM play ORDER BY premiere

-- How many different nationalities do the actors have?
-- Count the distinct nationalities of actors.
SELECT count(DISTINCT nationality) FROM actor

-- What is the average age of the Scottish actors?
-- How old are actors of Scottish nationality on average?
SELECT avg(age) FROM actor WHERE nationality = 'Scottish'

-- What are the largest and the smallest number of tickets of a performance?
-- Find the maximum and minimum tickets over all performances.
SELECT max(tickets) , min(tickets) FROM performance

-- Which play has the most acts? Show its title.
-- What is the title of the play with the largest number of acts?
SELECT title FROM play ORDER BY acts DESC LIMIT 1

-- Who is the youngest actor with a known age? Show the name.
-- Among the actors whose age is known, what is the name of the youngest one?
SELECT name FROM actor WHERE age IS NOT NULL ORDER BY age LIMIT 1

-- How many plays are there in each genre?
-- For each genre, show the number of plays.
SELECT genre , count(*) FROM play GROUP BY genre

-- Which playwrights wrote at least 2 plays?
-- Find the playwrights with two or more plays.
SELECT playwright FROM play GROUP BY playwright HAVING count(*) >= 2

-- Which nationality do most actors have?
-- What is the most common nationality of the actors?
SELECT nationality FROM actor GROUP BY nationality ORDER BY count(*) DESC LIMIT 1

-- What are the dates of the performances of Three Doors?
-- When was the play Three Doors performed? Show the dates.
SELECT T1.performed_on FROM performance AS T1 JOIN play AS T2 ON T1.play_id = T2.id WHERE T2.title = 'Three Doors'

-- Which actors play in The Glass Garden? Show the names.
-- What are the names of the actors cast in The Glass Garden?
SELECT T1.name FROM actor AS T1 JOIN casting AS T2 ON T1.id = T2.actor_id JOIN play AS T3 ON T2.play_id = T3.id WHERE T3.title = 'The Glass Garden'

-- In how many plays does each actor appear? Show the name and the count.
-- For each actor with a casting, show the name and the number of castings.
SELECT T2.name , count(*) FROM casting AS T1 JOIN actor AS T2 ON T1.actor_id = T2.id GROUP BY T2.id

-- Which actors are not cast in any play? Show the names.
-- What are the names of actors without a casting?
SELECT name FROM actor WHERE id NOT IN (SELECT actor_id FROM casting)

-- Which plays were never performed? Show the titles.
-- What are the titles of the plays without a performance?
SELECT title FROM play WHERE id NOT IN (SELECT play_id FROM performance)

-- What is the average number of tickets of each play? Show the title and the average.
-- For each performed play, give the title and the mean of the tickets.
SELECT T2.title , avg(T1.tickets) FROM performance AS T1 JOIN play AS T2 ON T1.play_id = T2.id GROUP BY T2.id

-- Which known playwrights wrote a drama but no tragedy?
-- Find the known playwrights of the genre drama, leaving out those who wrote in the genre tragedy.
SELECT playwright FROM play WHERE genre = 'drama' AND playwright IS NOT NULL EXCEPT SELECT playwright FROM play WHERE genre = 'tragedy'

-- Which actor has the most castings? Show the name and nationality.
-- What are the name and nationality of the actor with the largest number of castings?
SELECT T1.name , T1.nationality FROM actor AS T1 JOIN casting AS T2 ON T1.id = T2.actor_id GROUP BY T1.id ORDER BY count(*) DESC LIMIT 1
