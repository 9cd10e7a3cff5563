-- How many films are shown at the festival?
-- Count the films.
SELECT count(*) FROM film

-- What are the titles and languages of all films?
-- Show the title and the language of each film.
SELECT title , language FROM film

-- @language = French | English | Spanish
-- What are the titles of the films in {language}?
-- Show the titles of all {language} language films.
SELECT title FROM film WHERE language = '{language}'

-- @minutes = 100 | 120
-- How many films last longer than {minutes} minutes?
-- Count the films with more than {minutes} minutes.
SELECT count(*) FROM film WHERE minutes > {minutes}

-- List the film titles from the shortest to the longest film.
-- Show all titles ordered by the minutes of the film.
SELECT title FROM film ORDER BY minutes

-- What are the different languages of the films?
-- Give me the distinct film languages.
SELECT DISTINCT language FROM film

-- How many different nationalities do the directors have?
-- Count the distinct nationalities of directors.
SELECT count(DISTINCT nationality) FROM director

-- What is the average length in minutes of the films?
-- How many minutes does a film last on average?
SELECT avg(minutes) FROM film

-- What are the largest and the smallest budget of a film?
-- Find the maximum and minimum film budget in millions.
SELECT max(budget_millions) , min(budget_millions) FROM film

-- How many seats do the cinemas in the district {district} have in total?
-- What is the sum of the seats of the cinemas located in {district}?
-- @district = Centre | West
SELECT sum(seats) FROM cinema WHERE district = '{district}'

-- What is the title of the film with the highest budget?
-- Which film had the biggest budget? Show its title.
SELECT title FROM film ORDER BY budget_millions DESC LIMIT 1

-- What is the name of the cinema with the fewest seats?
-- Which cinema is the smallest by seats? Give its name.
SELECT name FROM cinema ORDER BY seats LIMIT 1

-- How many films are there in each language?
-- For each language, show the number of films.
SELECT language , count(*) FROM film GROUP BY language

-- Which nationality do most directors have?
-- What is the most common nationality of the directors?
SELECT nationality FROM director GROUP BY nationality ORDER BY count(*) DESC LIMIT 1

-- Which languages are used by at least 3 films?
-- Find the languages of three or more films.
SELECT language FROM film GROUP BY language HAVING count(*) >= 3

-- @name = Claire Benoît | Mei Lin
-- What are the titles of the films directed by {name}?
-- Which films did {name} direct? Show the titles.
SELECT T1.title FROM film AS T1 JOIN director AS T2 ON T1.director_id = T2.id WHERE T2.name = '{name}'

-- Show the title of each film and the name of its director.
-- List all films that have a director, with title and director name.
SELECT T1.title , T2.name FROM film AS T1 JOIN director AS T2 ON T1.director_id = T2.id

-- How many films did each director make? Show the name and the count.
-- For each director with films, show the name and the number of films.
SELECT T2.name , count(*) FROM film AS T1 JOIN director AS T2 ON T1.director_id = T2.id GROUP BY T2.id

-- Who directed the film {title}?
-- What is the name of the director of {title}?
-- @title = Polvo | Ember Coast
SELECT T2.name FROM film AS T1 JOIN director AS T2 ON T1.director_id = T2.id WHERE T1.title = '{title}'

-- Which films won an award? Show the distinct titles.
-- What are the different titles of films with an award?
SELECT DISTINCT T1.title FROM film AS T1 JOIN award AS T2 ON T1.id = T2.film_id

-- Which films did not win any award? Show the titles.
-- What are the titles of films without an award?
SELECT title FROM film WHERE id NOT IN (SELECT film_id FROM award WHERE film_id IS NOT NULL)

-- Which directors have no film at the festival? Give their names.
-- Find the names of directors without a film.
SELECT name FROM director WHERE id NOT IN (SELECT director_id FROM film WHERE director_id IS NOT NULL)

-- Which cinemas had no screening? Show the names.
-- What are the names of cinemas without any screening?
SELECT name FROM cinema WHERE id NOT IN (SELECT cinema_id FROM screening)

-- How many tickets were sold in total?
-- What is the sum of tickets sold over all screenings?
SELECT sum(tickets_sold) FROM screening

-- How many tickets were sold for each film? Show title and number.
-- For each film that was screened, give the title and the total of tickets sold.
SELECT T2.title , sum(T1.tickets_sold) FROM screening AS T1 JOIN film AS T2 ON T1.film_id = T2.id GROUP BY T2.id

-- Which films are longer than the average film? Show the titles.
-- List the titles of films whose minutes are above average.
SELECT title FROM film WHERE minutes > (SELECT avg(minutes) FROM film)

-- In which cinemas was the film Seven Kites shown? Show the distinct names.
-- What are the different names of the cinemas that screened Seven Kites?
SELECT DISTINCT T1.name FROM cinema AS T1 JOIN screening AS T2 ON T1.id = T2.cinema_id JOIN film AS T3 ON T2.film_id = T3.id WHERE T3.title = 'Seven Kites'

-- Which films have an unknown budget?
-- Show the titles of films without a budget.
SELECT title FROM film WHERE budget_millions IS NULL

-- Which director nationalities have films in French but none in English?
-- Find the nationalities of directors of French films, leaving out those of directors of English films.
SELECT T2.nationality FROM film AS T1 JOIN director AS T2 ON T1.director_id = T2.id WHERE T1.language = 'French' EXCEPT SELECT T2.nationality FROM film AS T1 JOIN director AS T2 ON T1.director_id = T2.id WHERE T1.language = 'English'

-- Which director has the most minutes of film in total? Show the name and nationality.
-- What are the name and nationality of the director whose films have the largest sum of minutes?
SELECT T2.name , T2.nationality FROM film AS T1 JOIN director AS T2 ON T1.director_id = T2.id GROUP BY T2.id ORDER BY sum(T1.minutes) DESC LIMIT 1

-- @absence
-- Which films are in Italian?
-- Show the titles of the Italian language films.
SELECT title FROM film WHERE language = 'Italian'
