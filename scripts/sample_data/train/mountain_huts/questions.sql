-- How many huts are there?
-- Count all huts.
SELECT count(*) FROM Hut

-- What are the name and the altitude of every hut?
-- List all huts with their names and altitudes.
SELECT Name , Altitude FROM Hut

-- @country = Switzerland | Italy
-- Which regions lie in {country}? Show their names.
-- List the names of the regions of {country}.
SELECT Name FROM Region WHERE Country = '{country}'

-- @altitude = 2000 | 2400
-- How many huts lie higher than {altitude}?
-- Count the huts with an altitude above {altitude}.
SELECT count(*) FROM Hut WHERE Altitude > {altitude}

-- Show the names of the huts from the highest to the lowest.
-- List the hut names by altitude in descending order.
SELECT Name FROM Hut ORDER BY Altitude DESC

-- What is the total number of beds in all huts?
-- How many beds do the huts have together?
SELECT sum(Beds) FROM Hut

-- What is the average age of the wardens?
-- How old are the wardens on average?
SELECT avg(Age) FROM Warden

-- What are the lowest and the highest altitude of a hut?
-- Find the minimum and maximum altitude of the huts.
SELECT min(Altitude) , max(Altitude) FROM Hut

-- What is the name of the hut with the most beds?
-- Which hut has the largest number of beds? Give its name.
SELECT Name FROM Hut ORDER BY Beds DESC LIMIT 1

-- What is the name and age of the youngest warden?
-- Show the youngest warden's name and age.
SELECT Name , Age FROM Warden ORDER BY Age LIMIT 1

-- Which huts have a shower? Show the names.
-- What are the names of the huts with a shower?
SELECT Name FROM Hut WHERE Has_Shower = 'yes'

-- For which huts is it unknown whether they have a shower? Show the names.
-- List the names of huts without any information about a shower.
SELECT Name FROM Hut WHERE Has_Shower IS NULL

-- Which huts opened before {year}? Show their names.
-- Give the names of the huts that were opened earlier than {year}.
-- @year = 1940 | 1960
SELECT Name FROM Hut WHERE Opened_Year < {year}

-- Which huts lie between 2000 and 2500? Give name and altitude.
-- Show the names and altitudes of huts with an altitude from 2000 to 2500.
SELECT Name , Altitude FROM Hut WHERE Altitude BETWEEN 2000 AND 2500

-- How many huts does each region have? Show the name of the region and the number.
-- For each region with huts, give its name and the number of huts.
SELECT T2.Name , count(*) FROM Hut AS T1 JOIN Region AS T2 ON T1.Region_ID = T2.Region_ID GROUP BY T2.Region_ID

-- How many regions are there in each country?
-- Show every country and the number of its regions.
SELECT Country , count(*) FROM Region GROUP BY Country

-- @region = Dolomiti | Ötztal
-- What are the names of the huts in the region {region}?
-- Show the hut names of the region called {region}.
SELECT T1.Name FROM Hut AS T1 JOIN Region AS T2 ON T1.Region_ID = T2.Region_ID WHERE T2.Name = '{region}'

-- Who are the wardens of the hut Sonnenalm?
-- Give the names of the wardens who work at Sonnenalm.
SELECT T1.Name FROM Warden AS T1 JOIN Hut AS T2 ON T1.Hut_ID = T2.Hut_ID WHERE T2.Name = 'Sonnenalm'

-- Which huts have more than one warden? Show the name of the hut.
-- Find the names of the huts with at least two wardens.
SELECT T2.Name FROM Warden AS T1 JOIN Hut AS T2 ON T1.Hut_ID = T2.Hut_ID GROUP BY T2.Hut_ID HAVING count(*) > 1

-- Which huts have no warden? Give their names.
-- What are the names of the huts without a warden?
SELECT Name FROM Hut WHERE Hut_ID NOT IN (SELECT Hut_ID FROM Warden WHERE Hut_ID IS NOT NULL)

-- Which regions do not have any hut? Show their names.
-- What are the names of regions without huts?
SELECT Name FROM Region WHERE Region_ID NOT IN (SELECT Region_ID FROM Hut)

-- Which huts have fewer beds than the average hut?
-- Show the names of huts whose number of beds is below average.
SELECT Name FROM Hut WHERE Beds < (SELECT avg(Beds) FROM Hut)

-- Which hut names contain the word 'Rifugio'?
-- Show the names of the huts that have 'Rifugio' in their name.
SELECT Name FROM Hut WHERE Name LIKE '%Rifugio%'

-- Which wardens are between 30 and 50 years old? Show their names.
-- List the names of wardens aged 30 to 50.
SELECT Name FROM Warden WHERE Age BETWEEN 30 AND 50

-- How many bookings arrive in July 2023?
-- Count the bookings with an arrival date in July 2023.
SELECT count(*) FROM Booking WHERE Arrival LIKE '2023-07%'

-- What is the average number of nights of a booking at each hut? Show the hut name too.
-- For each hut, give its name and the average nights per booking.
SELECT T2.Name , avg(T1.Nights) FROM Booking AS T1 JOIN Hut AS T2 ON T1.Hut_ID = T2.Hut_ID GROUP BY T2.Hut_ID

-- Which countries have huts higher than 2500 and also huts lower than 2200?
-- Find the countries that have both huts above 2500 and huts below 2200.
SELECT T2.Country FROM Hut AS T1 JOIN Region AS T2 ON T1.Region_ID = T2.Region_ID WHERE T1.Altitude > 2500 INTERSECT SELECT T2.Country FROM Hut AS T1 JOIN Region AS T2 ON T1.Region_ID = T2.Region_ID WHERE T1.Altitude < 2200

-- How many high huts are there?
-- Count the rows of the high huts view.
SELECT count(*) FROM High_Huts

-- @absence
-- Which huts have more than 200 beds?
-- Show the names of the huts that offer over 200 beds.
SELECT Name FROM Hut WHERE Beds > 200
