-- How many stalls are there?
-- Count the number of stalls.
SELECT count(*) FROM stall

-- How many orders were made?
-- What is the total number of orders?
-- Count the orders.
SELECT count(*) FROM "order"

-- Show the name and price of every dish.
-- What are the names and prices of all dishes?
SELECT dish_name , price FROM dish

-- @cuisine = Mexican | French
-- What are the names of the stalls that serve {cuisine} food?
-- Which stalls have the cuisine {cuisine}? Show their names.
SELECT stall_name FROM stall WHERE cuisine = '{cuisine}'

-- @price = 5 | 8
-- Which dishes cost more than {price}? Show their names.
-- List the names of the dishes with a price above {price}.
SELECT dish_name FROM dish WHERE price > {price}

-- How many vegetarian dishes are there?
-- Count the dishes that are vegetarian.
SELECT count(*) FROM dish WHERE vegetarian = 'yes'

-- List the names of the dishes from the cheapest to the most expensive.
-- Show all dish names ordered by price.
SELECT dish_name FROM dish ORDER BY price

-- Show the names of the stalls from the best rating to the worst, only those that have a rating.
-- List the rated stalls by name, highest rating first.
SELECT stall_name FROM stall WHERE rating IS NOT NULL ORDER BY rating DESC

-- What is the average price of a dish?
-- How much does a dish cost on average?
SELECT avg(price) FROM dish

-- What are the lowest, the highest and the average number of calories of the dishes?
-- Find the minimum, maximum and mean calories over all dishes.
SELECT min(calories) , max(calories) , avg(calories) FROM dish

-- What is the name of the most expensive dish?
-- Which dish has the highest price? Show its name.
SELECT dish_name FROM dish ORDER BY price DESC LIMIT 1

-- What are the names of the three dishes with the fewest calories?
-- Show the 3 lightest dishes in calories by name.
SELECT dish_name FROM dish ORDER BY calories LIMIT 3

-- How many orders are there for each status?
-- Show each order status and the number of orders with it.
SELECT status , count(*) FROM "order" GROUP BY status

-- @status = cancelled | pending
-- How many orders are {status}?
-- Count the orders whose status is {status}.
SELECT count(*) FROM "order" WHERE status = '{status}'

-- What are the first and last names of customers without an email address?
-- Show the first name and last name of each customer whose email is missing.
SELECT first_name , last_name FROM customer WHERE email IS NULL

-- @stall = Taco Norte | Green Bowl
-- What are the names of the dishes sold by the stall {stall}?
-- Show the dish names of {stall}.
SELECT T1.dish_name FROM dish AS T1 JOIN stall AS T2 ON T1.stall_id = T2.stall_id WHERE T2.stall_name = '{stall}'

-- How many dishes does each stall sell? Show the stall name and the count.
-- For each stall, give its name and its number of dishes.
SELECT T2.stall_name , count(*) FROM dish AS T1 JOIN stall AS T2 ON T1.stall_id = T2.stall_id GROUP BY T2.stall_id

-- Which cuisines have more than one stall?
-- Find the cuisines served by at least two stalls.
SELECT cuisine FROM stall GROUP BY cuisine HAVING count(*) > 1

-- How many orders did the customer with the last name Lund make?
-- Count the orders of the customer whose last name is Lund.
SELECT count(*) FROM "order" AS T1 JOIN customer AS T2 ON T1.customer_id = T2.customer_id WHERE T2.last_name = 'Lund'

-- What is the total quantity ordered of each dish? Show the dish name and the total.
-- For every dish that was ordered, give its name and the sum of the quantities.
SELECT T2.dish_name , sum(T1.quantity) FROM "order" AS T1 JOIN dish AS T2 ON T1.dish_id = T2.dish_id GROUP BY T2.dish_id

-- Which dishes were never ordered?
-- What are the names of the dishes without any order?
SELECT dish_name FROM dish WHERE dish_id NOT IN (SELECT dish_id FROM "order")

-- What are the last names of the customers who have not placed an order?
-- Show the last name of every customer without orders.
SELECT last_name FROM customer WHERE customer_id NOT IN (SELECT customer_id FROM "order")

-- Which dishes are cheaper than the average dish? Show name and price.
-- Give the name and the price of the dishes that cost less than average.
SELECT dish_name , price FROM dish WHERE price < (SELECT avg(price) FROM dish)

-- What are the first names of customers who ordered a dish of the stall Phở Station?
-- Find the distinct first names of the customers that bought something at Phở Station.
SELECT DISTINCT T1.first_name FROM customer AS T1 JOIN "order" AS T2 ON T1.customer_id = T2.customer_id JOIN dish AS T3 ON T2.dish_id = T3.dish_id JOIN stall AS T4 ON T3.stall_id = T4.stall_id WHERE T4.stall_name = 'Phở Station'

-- How many different customers have placed an order?
-- Count the distinct customers that appear in the orders.
SELECT count(DISTINCT customer_id) FROM "order"

-- Which stalls opened between 2015 and 2018? Show their names.
-- Give the names of the stalls that were opened from 2015 to 2018.
SELECT stall_name FROM stall WHERE opened BETWEEN 2015 AND 2018

-- @absence
-- Which stalls serve Italian food?
-- List the names of stalls whose cuisine is Italian.
SELECT stall_name FROM stall WHERE cuisine = 'Italian'
