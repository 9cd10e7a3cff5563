-- How many farms are there?
-- Count the farms.
SELECT count(*) FROM farm

-- What is the number of deliveries?
-- How many deliveries were made?
SELECT count(*) FROM delivery

-- List the names and villages of all farms.
-- What are the name and the village of each farm?
SELECT farm_name , village FROM farm

-- @category = vegetable | fruit | dairy
-- What are the names of the products in the category {category}?
-- Show the names of all {category} products.
SELECT product_name FROM product WHERE category = '{category}'

-- @hectares = 20 | 60
-- How many farms are larger than {hectares} hectares?
-- Count the farms with more than {hectares} hectares.
SELECT count(*) FROM farm WHERE hectares > {hectares}

-- Which markets are held in {town}? Show their names.
-- What are the names of the markets in the town {town}?
-- @town = Elton | Pell
SELECT market_name FROM market WHERE town = '{town}'

-- Which markets take place on Saturday? Show the names.
-- Give the names of the markets whose day of week is Saturday.
SELECT market_name FROM market WHERE "day of week" = 'Saturday'

-- List the product names from the cheapest to the dearest.
-- Show the names of the products ordered by unit price.
SELECT product_name FROM product ORDER BY unit_price

-- What are the different villages of the farms?
-- Show the distinct villages.
SELECT DISTINCT village FROM farm

-- What is the total area of the farms in hectares?
-- How many hectares do all farms have together?
SELECT sum(hectares) FROM farm

-- What is the average unit price of the {category} products?
-- How much does a product of the category {category} cost on average?
-- @category = fruit | dairy
SELECT avg(unit_price) FROM product WHERE category = '{category}'

-- What are the lowest, highest and average unit price?
-- Find the minimum, maximum and mean unit price of the products.
SELECT min(unit_price) , max(unit_price) , avg(unit_price) FROM product

-- Which product is the most expensive? Show its name.
-- What is the name of the product with the highest unit price?
SELECT product_name FROM product ORDER BY unit_price DESC LIMIT 1

-- What are the name and owner of the largest farm?
-- Show the farm name and the owner of the farm with the most hectares.
SELECT farm_name , owner FROM farm ORDER BY hectares DESC LIMIT 1

-- How many farms are there in each village?
-- For each village, show the number of farms.
SELECT village , count(*) FROM farm GROUP BY village

-- Which villages have more than one farm?
-- Find the villages with at least two farms.
SELECT village FROM farm GROUP BY village HAVING count(*) > 1

-- What are the average hectares of the farms in each village?
-- For each village, show the mean of the hectares.
SELECT village , avg(hectares) FROM farm GROUP BY village

-- Which farm has no owner? Show its name.
-- What are the names of the farms whose owner is not known?
SELECT farm_name FROM farm WHERE owner IS NULL

-- Which owners have the last name Dunn? Show the owner.
-- List the owners whose name contains 'Dunn'.
SELECT owner FROM farm WHERE owner LIKE '%Dunn%'

-- How many deliveries did each farm make? Show the farm name and the count.
-- For each farm with deliveries, give the name and the number of deliveries.
SELECT T2.farm_name , count(*) FROM delivery AS T1 JOIN farm AS T2 ON T1.farm_id = T2.farm_id GROUP BY T2.farm_id

-- @farm = Hollow Oak | Two Geese
-- On which dates did {farm} deliver?
-- Show the dates of the deliveries from the farm {farm}.
SELECT T1.delivered_on FROM delivery AS T1 JOIN farm AS T2 ON T1.farm_id = T2.farm_id WHERE T2.farm_name = '{farm}'

-- @product = Honey | Apples
-- What amount of {product} was delivered in total?
-- What is the sum of the delivered amounts of the product {product}?
SELECT sum(T1.amount) FROM delivery AS T1 JOIN product AS T2 ON T1.product_id = T2.product_id WHERE T2.product_name = '{product}'

-- Which products were never delivered? Show the names.
-- What are the names of the products without any delivery?
SELECT product_name FROM product WHERE product_id NOT IN (SELECT product_id FROM delivery)

-- Which farms did not deliver anything? Show the names.
-- Find the names of the farms without a delivery.
SELECT farm_name FROM farm WHERE farm_id NOT IN (SELECT farm_id FROM delivery)

-- Which markets received no delivery? Show the names.
-- What are the names of markets without deliveries?
SELECT market_name FROM market WHERE market_id NOT IN (SELECT market_id FROM delivery)

-- Which farms are smaller than the average farm? Show the names.
-- List the names of the farms with fewer hectares than average.
SELECT farm_name FROM farm WHERE hectares < (SELECT avg(hectares) FROM farm)

-- Which organic farms are in Marlow? Show the names (organic is 1).
-- Show the names of farms from Marlow that are organic (organic is 1).
SELECT farm_name FROM farm WHERE organic = 1 AND village = 'Marlow'

-- Which products were delivered to the market Corn Square? Show the distinct names.
-- What are the different names of the products delivered to Corn Square?
SELECT DISTINCT T1.product_name FROM product AS T1 JOIN delivery AS T2 ON T1.product_id = T2.product_id JOIN market AS T3 ON T2.market_id = T3.market_id WHERE T3.market_name = 'Corn Square'

-- Which farm delivered the largest total amount? Show its name.
-- What is the name of the farm with the highest sum of delivered amounts?
SELECT T1.farm_name FROM farm AS T1 JOIN delivery AS T2 ON T1.farm_id = T2.farm_id GROUP BY T1.farm_id ORDER BY sum(T2.amount) DESC LIMIT 1

-- Show the names of farms in Thornby with their number of deliveries, most deliveries first.
-- For the farms of the village Thornby, list the farm name and the number of deliveries in descending order of that number.
SELECT T1.farm_name , count(*) FROM farm AS T1 JOIN delivery AS T2 ON T1.farm_id = T2.farm_id WHERE T1.village = 'Thornby' GROUP BY T1.farm_id ORDER BY count(*) DESC

-- Which villages have both organic farms and farms that are not organic (organic is 1 or 0)?
-- Find the villages with a farm where organic is 1 and a farm where organic is 0.
SELECT village FROM farm WHERE organic = 1 INTERSECT SELECT village FROM farm WHERE organic = 0

-- @absence
-- Which products are in the category meat?
-- Show the names of the meat products.
SELECT product_name FROM product WHERE category = 'meat'
