-- How many books are there?
-- Count the books of the library.
-- What is the total number of books?
SELECT count(*) FROM book

-- List the names and countries of all authors.
-- What are the name and country of each author?
SELECT name , country FROM author

-- @genre = Crime | Romance | Poetry
-- What are the titles of the books in the genre {genre}?
-- Show the title of every {genre} book.
SELECT title FROM book WHERE genre = '{genre}'

-- @pages = 300 | 400
-- How many books have more than {pages} pages?
-- Count the number of books longer than {pages} pages.
SELECT count(*) FROM book WHERE pages > {pages}

-- List all book titles in alphabetical order.
-- Give me the titles of the books sorted from A to Z.
SELECT title FROM book ORDER BY title

-- What are the different known genres of books?
-- Show the distinct genres that have a name.
SELECT DISTINCT genre FROM book WHERE genre IS NOT NULL

-- What is the average number of pages of a book?
-- How many pages does a book have on average?
SELECT avg(pages) FROM book

-- What are the smallest and largest page counts of {genre} books?
-- For {genre} books, find the minimum and the maximum number of pages.
-- @genre = Crime | History
SELECT min(pages) , max(pages) FROM book WHERE genre = '{genre}'

-- For each genre, how many books are there?
-- Show every genre with its number of books.
SELECT genre , count(*) FROM book GROUP BY genre

-- What is the title of the longest book?
-- Which book has the most pages? Give its title.
SELECT title FROM book ORDER BY pages DESC LIMIT 1

-- What is the title of the oldest book?
-- Find the title of the book that was published first.
SELECT title FROM book ORDER BY published LIMIT 1

-- @name = Ann Whitcombe | Sofia Peñalver
-- What are the titles of the books written by {name}?
-- Show the titles of all books whose author is {name}.
SELECT T1.title FROM book AS T1 JOIN author AS T2 ON T1.author_id = T2.author_id WHERE T2.name = '{name}'

-- Show the title of each book together with the name of its author.
-- What are the titles of the books and the names of their authors?
SELECT T1.title , T2.name FROM book AS T1 JOIN author AS T2 ON T1.author_id = T2.author_id

-- What is the name of each author and the number of books he or she wrote?
-- How many books did each author write? Show the author's name and the count.
SELECT T2.name , count(*) FROM book AS T1 JOIN author AS T2 ON T1.author_id = T2.author_id GROUP BY T2.author_id

-- Which countries have at least two authors?
-- Find the countries where 2 or more authors come from.
SELECT country FROM author GROUP BY country HAVING count(*) >= 2

-- @city = Bristol | Leeds
-- What are the names of the members who live in {city}?
-- List the members from {city} by name.
SELECT name FROM member WHERE city = '{city}'

-- How many members joined after 2021-12-31?
-- Count the members who joined the library later than 31 December 2021.
SELECT count(*) FROM member WHERE joined > '2021-12-31'

-- How many loans have not been returned yet?
-- Count the loans without a return date.
SELECT count(*) FROM loan WHERE return_date IS NULL

-- What are the names of the members who never borrowed a book?
-- Find the names of members without any loan.
SELECT name FROM member WHERE member_id NOT IN (SELECT member_id FROM loan)

-- What are the titles of books that are longer than the average book?
-- Show the titles of the books with more pages than average.
SELECT title FROM book WHERE pages > (SELECT avg(pages) FROM book)

-- Which books have the word 'The' in their title?
-- Show the titles that contain 'The'.
SELECT title FROM book WHERE title LIKE '%The%'

-- Which member borrowed the most books? Give the name.
-- What is the name of the member with the largest number of loans?
SELECT T1.name FROM member AS T1 JOIN loan AS T2 ON T1.member_id = T2.member_id GROUP BY T1.member_id ORDER BY count(*) DESC LIMIT 1

-- In which genres did both French and Spanish authors write (countries France and Spain)?
-- Find the genres that have books by French authors as well as books by Spanish authors (countries France and Spain).
SELECT T1.genre FROM book AS T1 JOIN author AS T2 ON T1.author_id = T2.author_id WHERE T2.country = 'France' INTERSECT SELECT T1.genre FROM book AS T1 JOIN author AS T2 ON T1.author_id = T2.author_id WHERE T2.country = 'Spain'

-- Which authors have not written any book?
-- What are the names of the authors without a book?
SELECT name FROM author WHERE author_id NOT IN (SELECT author_id FROM book WHERE author_id IS NOT NULL)

-- @absence
-- Which members live in London?
-- Are there members from London? Give their names.
SELECT name FROM member WHERE city = 'London'
