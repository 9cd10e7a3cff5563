-- How many pupils does the school have?
-- Count the pupils.
SELECT count(*) FROM pupil

-- How many groups are there?
-- What is the number of groups?
SELECT count(*) FROM "group"

-- List the names and instruments of the teachers.
-- What are the name and the instrument of each teacher?
SELECT name , instrument FROM teacher

-- @instrument = Guitar | Piano
-- Which teachers teach {instrument}? Show their names.
-- What are the names of the {instrument} teachers?
SELECT name FROM teacher WHERE instrument = '{instrument}'

-- @level = beginner | advanced
-- How many pupils have the level {level}?
-- Count the {level} pupils.
SELECT count(*) FROM pupil WHERE level = '{level}'

-- Show the names and rooms of all groups.
-- What are the group names and their rooms?
SELECT group_name , room FROM "group"

-- @size = 5 | 7
-- Which groups can have more than {size} members? Show the group names.
-- List the names of groups with a maximum size above {size}.
SELECT group_name FROM "group" WHERE max_size > {size}

-- List the names of the pupils from oldest to youngest.
-- Show pupil names ordered by birthday.
SELECT name FROM pupil ORDER BY birthday

-- What are the different towns of the pupils?
-- Show the distinct towns where pupils live.
SELECT DISTINCT town FROM pupil

-- What is the average hourly rate of the teachers?
-- How much is the hourly rate of a teacher on average?
SELECT avg(hourly_rate) FROM teacher

-- What are the highest and lowest hourly rate?
-- Find the maximum and the minimum hourly rate of teachers.
SELECT max(hourly_rate) , min(hourly_rate) FROM teacher

-- Who is the most expensive teacher?
-- What is the name of the teacher with the highest hourly rate?
SELECT name FROM teacher ORDER BY hourly_rate DESC LIMIT 1

-- Which teacher has been at the school the longest? Show name and year.
-- Give the name and starting year of the teacher who started first.
SELECT name , since_year FROM teacher ORDER BY since_year LIMIT 1

-- How many pupils come from each town?
-- Show the towns and the number of pupils in each town.
SELECT town , count(*) FROM pupil GROUP BY town

-- Which instruments are taught by more than one teacher?
-- Find the instruments that have at least two teachers.
SELECT instrument FROM teacher GROUP BY instrument HAVING count(*) > 1

-- Which town has the most pupils?
-- Find the town where the largest number of pupils live.
SELECT town FROM pupil GROUP BY town ORDER BY count(*) DESC LIMIT 1

-- Which teacher has no hourly rate? Show the name.
-- Show the names of the teachers whose hourly rate is not known.
SELECT name FROM teacher WHERE hourly_rate IS NULL

-- What are the names of the groups led by {name}?
-- Which groups does the teacher {name} lead? Show the group names.
-- @name = Olga Petrova | Björn Ek
SELECT T1.group_name FROM "group" AS T1 JOIN teacher AS T2 ON T1.teacher_id = T2.teacher_id WHERE T2.name = '{name}'

-- Show each group name with the name of its teacher.
-- List the groups that have a teacher, with group name and teacher name.
SELECT T1.group_name , T2.name FROM "group" AS T1 JOIN teacher AS T2 ON T1.teacher_id = T2.teacher_id

-- How many pupils are in each group? Show the group name and the count.
-- For each group with members, give the group name and the number of pupils.
SELECT T2.group_name , count(*) FROM membership AS T1 JOIN "group" AS T2 ON T1.group_id = T2.group_id GROUP BY T2.group_id

-- @group = Six Strings | Little Keys
-- What are the names of the pupils in the group {group}?
-- Which pupils are members of {group}? Show their names.
SELECT T1.name FROM pupil AS T1 JOIN membership AS T2 ON T1.pupil_id = T2.pupil_id JOIN "group" AS T3 ON T2.group_id = T3.group_id WHERE T3.group_name = '{group}'

-- Which teachers do not lead any group? Show their names.
-- What are the names of the teachers without a group?
SELECT name FROM teacher WHERE teacher_id NOT IN (SELECT teacher_id FROM "group" WHERE teacher_id IS NOT NULL)

-- Which pupils are not in any group? Show the names.
-- Find the names of pupils without a group.
SELECT name FROM pupil WHERE pupil_id NOT IN (SELECT pupil_id FROM membership)

-- Which teachers charge more than the average hourly rate? Show the names.
-- List the names of teachers with an hourly rate above average.
SELECT name FROM teacher WHERE hourly_rate > (SELECT avg(hourly_rate) FROM teacher)

-- How much do all members pay in fees together?
-- What is the total of the membership fees?
SELECT sum(fee) FROM membership

-- What is the total fee paid by the pupil {name}?
-- How much does {name} pay in fees altogether?
-- @name = Elif Kaya | Gina Rossi
SELECT sum(T1.fee) FROM membership AS T1 JOIN pupil AS T2 ON T1.pupil_id = T2.pupil_id WHERE T2.name = '{name}'

-- Which pupils were born in 2010 or later? Show the names.
-- Give the names of pupils with a birthday on or after 2010-01-01.
SELECT name FROM pupil WHERE birthday >= '2010-01-01'

-- Which beginner pupils live in Westwood? Show the names.
-- Show the names of pupils from Westwood whose level is beginner.
SELECT name FROM pupil WHERE level = 'beginner' AND town = 'Westwood'

-- In which towns do both beginner and advanced pupils live?
-- Find the towns that have pupils of level beginner and pupils of level advanced.
SELECT town FROM pupil WHERE level = 'beginner' INTERSECT SELECT town FROM pupil WHERE level = 'advanced'

-- @absence
-- Who teaches the Harp?
-- Show the names of teachers whose instrument is the Harp.
SELECT name FROM teacher WHERE instrument = 'Harp'
