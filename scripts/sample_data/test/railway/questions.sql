-- How many stations are there?
-- Count the stations.
SELECT count(*) FROM station

-- What are the names and regions of all stations?
-- Show each station's name and region.
SELECT station_name , region FROM station

-- Which stations lie in the region West? Show the station names.
-- What are the names of the stations of the West region?
SELECT station_name FROM station WHERE region = 'West'

-- How many trains have more than 300 seats?
-- Count the trains with over 300 seats.
SELECT count(*) FROM train WHERE seats > 300

-- List the names of the stations from the lowest to the highest altitude.
-- Show the station names ordered by altitude.
SELECT station_name FROM station ORDER BY altitude

-- What are the different regions of the stations?
-- List the distinct regions.
SELECT DISTINCT region FROM station

-- What is the average number of seats of a train?
-- How many seats does a train have on average?
SELECT avg(seats) FROM train

-- What are the lowest and the highest altitude of the stations?
-- Find the minimum and the maximum station altitude.
SELECT min(altitude) , max(altitude) FROM station

-- What is the name of the fastest train?
-- Which train has the highest maximum speed? Show its name.
SELECT train_name FROM train ORDER BY max_speed DESC LIMIT 1

-- What is the name of the station with the fewest platforms?
-- Which station has the smallest number of platforms? Give its name.
SELECT station_name FROM station ORDER BY platforms LIMIT 1

-- How many stations does each region have?
-- For each region, show the number of stations.
SELECT region , count(*) FROM station GROUP BY region

-- What is the total number of passengers of each train? Show the train number and the sum.
-- For each train number, show the sum of the passengers over its trips.
SELECT train_no , sum(passengers) FROM trip GROUP BY train_no

-- Which trains start in the station Dornach? Show the train names.
-- What are the names of the trains whose origin is the station named Dornach?
SELECT T1.train_name FROM train AS T1 JOIN station AS T2 ON T1.origin = T2.station_code WHERE T2.station_name = 'Dornach'

-- Show the name of each driver and the name of the home station.
-- List driver names together with the names of their home stations.
SELECT T1.driver_name , T2.station_name FROM driver AS T1 JOIN station AS T2 ON T1.home_station = T2.station_code

-- How many trips did each driver make? Show the driver's name and the count.
-- For every driver with trips, give the name and the number of trips.
SELECT T2.driver_name , count(*) FROM trip AS T1 JOIN driver AS T2 ON T1.driver_id = T2.driver_id GROUP BY T2.driver_id

-- Which drivers did not make any trip? Show the names.
-- What are the names of the drivers without a trip?
SELECT driver_name FROM driver WHERE driver_id NOT IN (SELECT driver_id FROM trip)

-- Which trains have no name? Show their numbers.
-- What are the numbers of the trains whose name is missing?
SELECT train_no FROM train WHERE train_name IS NULL

-- Which drivers were born before 1980? Show their names.
-- List the names of drivers with a birth date earlier than 1980-01-01.
SELECT driver_name FROM driver WHERE birth_date < '1980-01-01'

-- How many late trips are there?
-- Count the rows of the late trip view.
SELECT count(*) FROM late_trip

-- Which regions have a station above 400 and a station below 300?
-- Find the regions that have both a station with an altitude over 400 and one with an altitude under 300.
SELECT region FROM station WHERE altitude > 400 INTERSECT SELECT region FROM station WHERE altitude < 300

-- @absence
-- Which trains can go faster than 300? Show their names.
-- What are the names of the trains with a maximum speed above 300?
SELECT train_name FROM train WHERE max_speed > 300
