-- How many animals live in the zoo?
-- Count the animals.
SELECT count(*) FROM animal

-- What are the names and ages of the keepers?
-- List each keeper's name and age.
SELECT name , age FROM keeper

-- Which species come from Africa? Show their common names.
-- What are the common names of the species of the continent Africa?
SELECT common_name FROM species WHERE continent = 'Africa'

-- How many animals weigh more than 200?
-- Count the animals with a weight above 200.
SELECT count(*) FROM animal WHERE weight > 200

-- List the names of the animals from the oldest to the youngest.
-- Show the animal names ordered by birth year.
SELECT name FROM animal ORDER BY birth_year

-- What are the different diets of the species?
-- Show the distinct diets.
SELECT DISTINCT diet FROM species

-- What is the average age of the keepers?
-- How old are keepers on average?
SELECT avg(age) FROM keeper

-- What are the maximum and the minimum weight of the female animals?
-- For animals of sex F, find the highest and lowest weight.
SELECT max(weight) , min(weight) FROM animal WHERE sex = 'F'

-- What is the name of the heaviest animal?
-- Which animal weighs the most? Give its name.
SELECT name FROM animal ORDER BY weight DESC LIMIT 1

-- How many species does each continent have?
-- For each continent, show the number of species.
SELECT continent , count(*) FROM species GROUP BY continent

-- What are the names of the animals that are a Red panda?
-- Show the names of all animals of the species Red panda.
SELECT T1.name FROM animal AS T1 JOIN species AS T2 ON T1.species_id = T2.species_id WHERE T2.common_name = 'Red panda'

-- How many animals does each keeper look after? Show the keeper's name and the count.
-- For each keeper with animals, give the name and the number of animals.
SELECT T2.name , count(*) FROM animal AS T1 JOIN keeper AS T2 ON T1.keeper_id = T2.keeper_id GROUP BY T2.keeper_id

-- Which diets are shared by at least 3 species?
-- Find the diets of three or more species.
SELECT diet FROM species GROUP BY diet HAVING count(*) >= 3

-- Which species have no animal in the zoo? Show the common names.
-- What are the common names of species without any animal?
SELECT common_name FROM species WHERE species_id NOT IN (SELECT species_id FROM animal)

-- Which animals have no keeper? Show the names.
-- List the names of animals without a keeper.
SELECT name FROM animal WHERE keeper_id IS NULL

-- Which animals are lighter than the average animal? Show their names.
-- Give the names of the animals whose weight is below average.
SELECT name FROM animal WHERE weight < (SELECT avg(weight) FROM animal)

-- Which keepers look after a Lion? Show the distinct names.
-- What are the different names of the keepers of animals of the species Lion?
SELECT DISTINCT T1.name FROM keeper AS T1 JOIN animal AS T2 ON T1.keeper_id = T2.keeper_id JOIN species AS T3 ON T2.species_id = T3.species_id WHERE T3.common_name = 'Lion'

-- Which continents have both carnivore and omnivore species?
-- Find the continents with species whose diet is carnivore and species whose diet is omnivore.
SELECT continent FROM species WHERE diet = 'carnivore' INTERSECT SELECT continent FROM species WHERE diet = 'omnivore'

-- How many kilograms of meat were fed in total?
-- What is the sum of kilograms over the feedings with the food meat?
SELECT sum(kilograms) FROM feeding WHERE food = 'meat'

-- @absence
-- Which species come from Antarctica? Show their common names.
-- Give the common names of species of the continent Antarctica.
SELECT common_name FROM species WHERE continent = 'Antarctica'

-- Which keeper looks after the most animals? Show the name.
-- What is the name of the keeper with the largest number of animals?
SELECT T1.name FROM keeper AS T1 JOIN animal AS T2 ON T1.keeper_id = T2.keeper_id GROUP BY T1.keeper_id ORDER BY count(*) DESC LIMIT 1
