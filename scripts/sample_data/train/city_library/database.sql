CREATE TABLE author (
    author_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    country TEXT,
    birth_year INTEGER
);
CREATE TABLE book (
    book_id INTEGER PRIMARY KEY,
    title TEXT NOT NULL,
    author_id INTEGER REFERENCES author(author_id),
    genre TEXT,
    pages INTEGER,
    published INTEGER
);
CREATE TABLE member (
    member_id INTEGER PRIMARY KEY,
    name TEXT NOT NULL,
    city TEXT,
    joined DATE
);
CREATE TABLE loan (
    loan_id INTEGER PRIMARY KEY,
    book_id INTEGER REFERENCES book(book_id),
    member_id INTEGER REFERENCES member(member_id),
    loan_date DATE,
    return_date DATE
);
INSERT INTO author VALUES
(1, 'Inès Carpentier', 'France', 1961), (2, 'Tom Hadley', 'Ireland', 1948), (3, 'Mika Rautio', 'Finland', 1979),
(4, 'Sofia Peñalver', 'Spain', 1985), (5, 'Grace Obuya', 'Kenya', 1990), (6, 'Luc Marchand', 'France', 1933),
(7, 'Ann Whitcombe', 'Ireland', 1972), (8, 'Jürgen Voß', 'Germany', NULL);
INSERT INTO book VALUES
(1, 'The Salt Road', 2, 'Adventure', 412, 1998), (2, 'Winter Letters', 3, 'Romance', 256, 2011),
(3, 'A Map of Rain', 1, 'Poetry', 96, 1994), (4, 'Glass Harbour', 7, 'Crime', 348, 2006),
(5, 'The Ninth Witness', 7, 'Crime', 391, 2014), (6, 'Under the Acacia', 5, 'Romance', 302, 2019),
(7, 'Clockmakers', 6, 'History', 540, 1971), (8, 'Night Ferry', 2, 'Crime', 287, 1989),
(9, 'Songs for Tired Birds', 4, 'Poetry', 120, 2016), (10, 'The Iron Orchard', 6, 'History', 610, 1980),
(11, 'Seven Lakes', 3, 'Adventure', 330, 2015), (12, 'Paper Lions', 5, 'Adventure', 275, 2021),
(13, 'Borrowed Light', 1, 'Romance', 310, 2003), (14, 'A Short Silence', 4, 'Crime', 205, 2020),
(15, 'The Bridge Keepers', NULL, 'History', 455, 1965), (16, 'Half a Lemon', 4, NULL, 180, 2022);
INSERT INTO member VALUES
(1, 'Paula Reyes', 'Bristol', '2019-03-14'), (2, 'Owen Clarke', 'Leeds', '2020-11-02'),
(3, 'Hannah Weiß', 'Bristol', '2021-06-25'), (4, 'Dev Patel', 'York', '2018-01-09'),
(5, 'Zoë Martin', 'Leeds', '2022-09-30'), (6, 'Arthur Nkemelu', 'Bristol', '2022-02-17'),
(7, 'Lena Fischer', 'Oxford', '2017-05-21'), (8, 'Carlos Ibáñez', 'York', '2023-04-03'),
(9, 'Ruth Abbott', 'Leeds', '2023-08-12'), (10, 'Sam Doyle', NULL, '2023-10-01');
INSERT INTO loan
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 46)
SELECT i, 1 + i * 5 % 14, 1 + (i * 3 + i / 5) % 9, date('2023-01-05', '+' || (i * 7) || ' days'),
       CASE WHEN i % 6 <> 0 THEN date('2023-01-05', '+' || (i * 7 + 9 + i % 15) || ' days') END FROM n;
