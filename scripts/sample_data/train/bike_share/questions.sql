-- How many bikes are there?
-- Count the bikes.
SELECT count(*) FROM bike

-- How many rides were made altogether?
-- What is the number of rides?
SELECT count(*) FROM ride

-- What are the names and districts of the docking stations?
-- List all docking stations with name and district.
SELECT name , district FROM docking_station

-- @district = Centre | East
-- Which docking stations are in the district {district}? Show their names.
-- What are the names of the docking stations of {district}?
SELECT name FROM docking_station WHERE district = '{district}'

-- @docks = 15 | 22
-- How many docking stations have more than {docks} docks?
-- Count the stations with over {docks} docks.
SELECT count(*) FROM docking_station WHERE docks > {docks}

-- How many bikes are electric?
-- Count the electric bikes.
SELECT count(*) FROM bike WHERE electric = 'yes'

-- List the names of the riders from youngest to oldest.
-- Show rider names ordered by age.
SELECT name FROM rider ORDER BY age

-- What are the different models of bikes?
-- Show the distinct bike models.
SELECT DISTINCT model FROM bike

-- How many different bike models are there?
-- Count the distinct models of bikes.
SELECT count(DISTINCT model) FROM bike

-- What is the average age of riders with the plan {plan}?
-- How old are the riders of the {plan} plan on average?
-- @plan = year | month
SELECT avg(age) FROM rider WHERE plan = '{plan}'

-- What are the shortest and the longest ride in minutes?
-- Find the minimum and maximum minutes of a ride.
SELECT min(minutes) , max(minutes) FROM ride

-- What is the total distance of all rides?
-- How many kilometres were ridden in total?
SELECT sum(distance_km) FROM ride

-- Which docking station has the most docks? Show the name.
-- What is the name of the largest docking station by docks?
SELECT name FROM docking_station ORDER BY docks DESC LIMIT 1

-- What are the names of the two oldest riders?
-- Show the 2 riders with the highest age by name.
SELECT name FROM rider ORDER BY age DESC LIMIT 2

-- How many bikes are there of each model?
-- For each model, show the number of bikes.
SELECT model , count(*) FROM bike GROUP BY model

-- How many docks does each district have?
-- For each district, show the total number of docks.
SELECT district , sum(docks) FROM docking_station GROUP BY district

-- Which models have at least 3 bikes?
-- Find the models of three or more bikes.
SELECT model FROM bike GROUP BY model HAVING count(*) >= 3

-- What is the most common bike model?
-- Which model do most bikes have?
SELECT model FROM bike GROUP BY model ORDER BY count(*) DESC LIMIT 1

-- Which riders have no plan? Show the names.
-- What are the names of riders without a plan?
SELECT name FROM rider WHERE plan IS NULL

-- @station = Town Hall | Harbour
-- What are the models of the bikes at the station {station}?
-- Which bike models stand at {station}?
SELECT T1.model FROM bike AS T1 JOIN docking_station AS T2 ON T1.station_id = T2.id WHERE T2.name = '{station}'

-- How many rides did each rider make? Show the name and the count.
-- For each rider with rides, give the name and the number of rides.
SELECT T2.name , count(*) FROM ride AS T1 JOIN rider AS T2 ON T1.rider_id = T2.id GROUP BY T2.id

-- How many minutes did {name} ride in total?
-- What is the sum of the minutes of all rides by {name}?
-- @name = Anouk Meyer | Fergus Reid
SELECT sum(T1.minutes) FROM ride AS T1 JOIN rider AS T2 ON T1.rider_id = T2.id WHERE T2.name = '{name}'

-- Which riders never made a ride? Show the names.
-- What are the names of riders without any ride?
SELECT name FROM rider WHERE id NOT IN (SELECT rider_id FROM ride)

-- Which docking stations have no bike? Give their names.
-- What are the names of stations without bikes?
SELECT name FROM docking_station WHERE id NOT IN (SELECT station_id FROM bike WHERE station_id IS NOT NULL)

-- Which riders are older than the average rider? Show name and age.
-- Give the names and ages of the riders above the average age.
SELECT name , age FROM rider WHERE age > (SELECT avg(age) FROM rider)

-- How many rides took place in May 2024?
-- Count the rides with a date in May 2024.
SELECT count(*) FROM ride WHERE ride_date LIKE '2024-05%'

-- Which docking stations opened after 2018-12-31? Show the names.
-- List the names of the stations opened later than 31 December 2018.
SELECT name FROM docking_station WHERE opened > '2018-12-31'

-- Which riders used a Cargo bike? Show the distinct names.
-- What are the different names of the riders that rode a bike of the model Cargo?
SELECT DISTINCT T1.name FROM rider AS T1 JOIN ride AS T2 ON T1.id = T2.rider_id JOIN bike AS T3 ON T2.bike_id = T3.id WHERE T3.model = 'Cargo'

-- From which docking station did most rides start? Show its name.
-- What is the name of the station where the largest number of rides began?
SELECT T1.name FROM docking_station AS T1 JOIN ride AS T2 ON T1.id = T2.from_station_id GROUP BY T1.id ORDER BY count(*) DESC LIMIT 1

-- Which models were bought in 2019 but not in 2022?
-- Find the bike models with a bike bought in 2019, leaving out models with a bike bought in 2022.
SELECT model FROM bike WHERE bought_year = 2019 EXCEPT SELECT model FROM bike WHERE bought_year = 2022

-- @absence
-- Which docking stations lie in the district West?
-- Show the names of the stations of the West district.
SELECT name FROM docking_station WHERE district = 'West'
