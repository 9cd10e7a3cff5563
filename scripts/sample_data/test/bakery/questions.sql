-- How many products are there?
-- Count the products of the bakery.
SELECT count(*) FROM Product

-- What are the name and price of each product?
-- List all product names with their prices.
SELECT Product_Name , Price FROM Product

-- Which branches are in the city Linz? Show the branch names.
-- What are the names of the branches in Linz?
SELECT Branch_Name FROM Branch WHERE City = 'Linz'

-- Show the names of the products in the group Cake.
-- Which products belong to the group Cake? Show their names.
SELECT Product_Name FROM Product WHERE "Group" = 'Cake'

-- How many products cost less than 3?
-- Count the products with a price below 3.
SELECT count(*) FROM Product WHERE Price < 3

-- List the product names from the most expensive to the cheapest.
-- Show the names of the products ordered by price, highest first.
SELECT Product_Name FROM Product ORDER BY Price DESC

-- In which different cities are the branches?
-- Show the distinct cities of the branches.
SELECT DISTINCT City FROM Branch

-- How many people work in all branches together?
-- What is the total staff of the branches?
SELECT sum(Staff) FROM Branch

-- What are the highest, lowest and average salary of the bakers?
-- Find the maximum, the minimum and the mean baker salary.
SELECT max(Salary) , min(Salary) , avg(Salary) FROM Baker

-- What is the name of the oldest branch?
-- Which branch opened first? Give its name.
SELECT Branch_Name FROM Branch ORDER BY Opening_Year LIMIT 1

-- Who earns the most? Show the name and salary of the baker.
-- What are the name and salary of the best paid baker?
SELECT Name , Salary FROM Baker ORDER BY Salary DESC LIMIT 1

-- How many branches are there in each city?
-- Show each city with its number of branches.
SELECT City , count(*) FROM Branch GROUP BY City

-- Which cities have more than one branch?
-- Find the cities with at least two branches.
SELECT City FROM Branch GROUP BY City HAVING count(*) > 1

-- Who works at the branch Old Mill? Show the bakers' names.
-- What are the names of the bakers of Old Mill?
SELECT T1.Name FROM Baker AS T1 JOIN Branch AS T2 ON T1.Branch_Id = T2.Branch_Id WHERE T2.Branch_Name = 'Old Mill'

-- Show the name of each baker and the city of the branch.
-- List the names of bakers together with the cities of their branches.
SELECT T1.Name , T2.City FROM Baker AS T1 JOIN Branch AS T2 ON T1.Branch_Id = T2.Branch_Id

-- How many pieces of each product were sold? Show the product name and the total.
-- For each sold product, give its name and the sum of pieces.
SELECT T2.Product_Name , sum(T1.Pieces) FROM Sale AS T1 JOIN Product AS T2 ON T1.Product_Id = T2.Product_Id GROUP BY T2.Product_Id

-- Which branches have no sale? Show the names.
-- What are the names of the branches without any sales?
SELECT Branch_Name FROM Branch WHERE Branch_Id NOT IN (SELECT Branch_Id FROM Sale)

-- Which product has no group? Show its name.
-- List the names of the products whose group is missing.
SELECT Product_Name FROM Product WHERE "Group" IS NULL

-- Which products are more expensive than the average product? Show the names.
-- List the names of products with a price above average.
SELECT Product_Name FROM Product WHERE Price > (SELECT avg(Price) FROM Product)

-- Which products have 'loaf' in their name?
-- Show the product names that contain 'loaf'.
SELECT Product_Name FROM Product WHERE Product_Name LIKE '%loaf%'

-- In which cities was Sachertorte sold? Show the distinct cities.
-- What are the different cities of branches that sold Sachertorte?
SELECT DISTINCT T1.City FROM Branch AS T1 JOIN Sale AS T2 ON T1.Branch_Id = T2.Branch_Id JOIN Product AS T3 ON T2.Product_Id = T3.Product_Id WHERE T3.Product_Name = 'Sachertorte'

-- Which branch sold the most pieces in total? Show the branch name.
-- What is the name of the branch with the highest sum of sold pieces?
SELECT T1.Branch_Name FROM Branch AS T1 JOIN Sale AS T2 ON T1.Branch_Id = T2.Branch_Id GROUP BY T1.Branch_Id ORDER BY sum(T2.Pieces) DESC LIMIT 1
