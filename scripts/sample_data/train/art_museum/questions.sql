-- How many artworks does the museum have?
-- Count the artworks.
SELECT count(*) FROM Artwork

-- What are the full names and countries of the artists?
-- List each artist's full name and country.
SELECT FullName , Country FROM Artist

-- @medium = oil | bronze
-- What are the titles of the artworks with the medium {medium}?
-- Show the titles of all {medium} artworks.
SELECT Title FROM Artwork WHERE Medium = '{medium}'

-- @value = 100000 | 400000
-- How many artworks are insured for more than {value}?
-- Count the artworks with an insured value above {value}.
SELECT count(*) FROM Artwork WHERE InsuredValue > {value}

-- List the titles of the artworks in alphabetical order.
-- Show artwork titles sorted from A to Z.
SELECT Title FROM Artwork ORDER BY Title

-- What are the different mediums of the artworks?
-- List the distinct mediums.
SELECT DISTINCT Medium FROM Artwork

-- What is the average insured value of the artworks?
-- For how much is an artwork insured on average?
SELECT avg(InsuredValue) FROM Artwork

-- What are the lowest and highest insured value of the {medium} artworks?
-- Find the minimum and maximum insured value of artworks in {medium}.
-- @medium = oil | photograph
SELECT min(InsuredValue) , max(InsuredValue) FROM Artwork WHERE Medium = '{medium}'

-- Which artwork has the highest insured value? Show the title.
-- What is the title of the most valuable artwork?
SELECT Title FROM Artwork ORDER BY InsuredValue DESC LIMIT 1

-- What is the full name of the artist who was born first?
-- Which artist was born the earliest? Show the full name.
SELECT FullName FROM Artist ORDER BY BirthYear LIMIT 1

-- Which artists are still alive? Show their full names.
-- List the full names of the artists without a death year.
SELECT FullName FROM Artist WHERE DeathYear IS NULL

-- How many artists come from each country?
-- For each country, show the number of artists.
SELECT Country , count(*) FROM Artist GROUP BY Country

-- Which mediums have at least 2 artworks?
-- Find the mediums used by two or more artworks.
SELECT Medium FROM Artwork GROUP BY Medium HAVING count(*) >= 2

-- What is the most common medium of the artworks?
-- Which medium do most artworks have?
SELECT Medium FROM Artwork GROUP BY Medium ORDER BY count(*) DESC LIMIT 1

-- @name = Violette Duchêne | Henry Ashdown
-- What are the titles of the artworks made by {name}?
-- Which artworks are by the artist {name}? Show the titles.
SELECT T1.Title FROM Artwork AS T1 JOIN Artist AS T2 ON T1.ArtistId = T2.ArtistId WHERE T2.FullName = '{name}'

-- @theme = Modern | Landscapes
-- What are the titles of the artworks in the room with the theme {theme}?
-- Show the titles of all artworks that hang in the {theme} room.
SELECT T1.Title FROM Artwork AS T1 JOIN Room AS T2 ON T1.RoomNo = T2.RoomNo WHERE T2.Theme = '{theme}'

-- How many artworks does each artist have? Show the full name and the count.
-- For each artist with artworks, give the full name and the number of artworks.
SELECT T2.FullName , count(*) FROM Artwork AS T1 JOIN Artist AS T2 ON T1.ArtistId = T2.ArtistId GROUP BY T2.ArtistId

-- What is the total insured value on each floor?
-- For each floor, show the sum of the insured values of its artworks.
SELECT T2.Floor , sum(T1.InsuredValue) FROM Artwork AS T1 JOIN Room AS T2 ON T1.RoomNo = T2.RoomNo GROUP BY T2.Floor

-- Which artists have no artwork in the museum? Show the full names.
-- What are the full names of artists without an artwork?
SELECT FullName FROM Artist WHERE ArtistId NOT IN (SELECT ArtistId FROM Artwork WHERE ArtistId IS NOT NULL)

-- Which rooms hold no artwork? Show the room numbers.
-- What are the numbers of the rooms without artworks?
SELECT RoomNo FROM Room WHERE RoomNo NOT IN (SELECT RoomNo FROM Artwork WHERE RoomNo IS NOT NULL)

-- Which artworks have an insured value above the average? Show the titles.
-- List the titles of artworks insured for more than the average artwork.
SELECT Title FROM Artwork WHERE InsuredValue > (SELECT avg(InsuredValue) FROM Artwork)

-- Which artworks were made between 1900 and 1950? Show title and year.
-- Give the titles and years of the artworks made from 1900 to 1950.
SELECT Title , YearMade FROM Artwork WHERE YearMade BETWEEN 1900 AND 1950

-- How many artworks are on show?
-- Count the rows of the view of artworks on show.
SELECT count(*) FROM Artwork_On_Show

-- How many adults came on days with {weather}?
-- What is the sum of the adults over the days whose weather was {weather}?
-- @weather = rain | sun
SELECT sum(Adults) FROM Visitor_Day WHERE Weather = '{weather}'

-- What is the average number of adults and children for each weather?
-- For each weather, show the mean of adults and the mean of children.
SELECT Weather , avg(Adults) , avg(Children) FROM Visitor_Day GROUP BY Weather

-- Which artist has the largest total insured value? Show the full name.
-- What is the full name of the artist whose artworks have the highest sum of insured values?
SELECT T2.FullName FROM Artwork AS T1 JOIN Artist AS T2 ON T1.ArtistId = T2.ArtistId GROUP BY T2.ArtistId ORDER BY sum(T1.InsuredValue) DESC LIMIT 1

-- Which countries have artists born before 1900 and artists born after 1900?
-- Find the countries with both an artist born before 1900 and an artist born after 1900.
SELECT Country FROM Artist WHERE BirthYear < 1900 INTERSECT SELECT Country FROM Artist WHERE BirthYear > 1900

-- Which French or Spanish artists are there? Show the full names (countries France and Spain).
-- List the full names of the artists whose country is France or Spain.
SELECT FullName FROM Artist WHERE Country = 'France' OR Country = 'Spain'

-- @absence
-- Which artworks were made before 1800? Show the titles.
-- List the titles of artworks older than the year 1800.
SELECT Title FROM Artwork WHERE YearMade < 1800
