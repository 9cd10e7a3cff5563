-- How many patients are there?
-- Count the patients of the clinic.
SELECT count(*) FROM Patients

-- How many visits were made in total?
-- Give the number of visits.
SELECT count(*) FROM Visits

-- What are the names and specialties of all doctors?
-- List every doctor's name and specialty.
SELECT doctor_name , specialty FROM Doctors

-- @specialty = Retina | Cornea
-- What are the names of the doctors with the specialty {specialty}?
-- Which doctors specialise in {specialty}? List their names.
SELECT doctor_name FROM Doctors WHERE specialty = '{specialty}'

-- @age = 18 | 60
-- How many patients are older than {age}?
-- Count the patients above the age of {age}.
SELECT count(*) FROM Patients WHERE age > {age}

-- List the names of all patients from youngest to oldest.
-- Show patient names sorted by age.
SELECT patient_name FROM Patients ORDER BY age

-- What are the different towns the patients live in?
-- Show the distinct towns of patients.
SELECT DISTINCT town FROM Patients

-- How many different towns do the patients come from?
-- Count the distinct towns of the patients.
SELECT count(DISTINCT town) FROM Patients

-- What is the average age of the patients from {town}?
-- How old are patients from {town} on average?
-- @town = Lakeside | Hilltown
SELECT avg(age) FROM Patients WHERE town = '{town}'

-- What are the minimum, maximum and average cost of the treatments?
-- Find the lowest, highest and mean treatment cost.
SELECT min(cost) , max(cost) , avg(cost) FROM Treatments

-- What is the name of the most expensive treatment?
-- Which treatment costs the most? Give its name.
SELECT treatment_name FROM Treatments ORDER BY cost DESC LIMIT 1

-- Who is the best paid doctor? Show the name and salary.
-- What are the name and salary of the doctor with the highest salary?
SELECT doctor_name , salary FROM Doctors ORDER BY salary DESC LIMIT 1

-- How many patients are there of each gender?
-- Show each gender and the number of patients.
SELECT gender , count(*) FROM Patients GROUP BY gender

-- What is the average age of the patients in each town?
-- For each town, give the average patient age.
SELECT town , avg(age) FROM Patients GROUP BY town

-- Which towns have more than 3 patients?
-- Find the towns where over three patients live.
SELECT town FROM Patients GROUP BY town HAVING count(*) > 3

-- Which town do most patients come from?
-- Find the town with the largest number of patients.
SELECT town FROM Patients GROUP BY town ORDER BY count(*) DESC LIMIT 1

-- Which patients have no phone number? Show their names.
-- List the names of the patients whose phone is missing.
SELECT patient_name FROM Patients WHERE phone IS NULL

-- How many visits did each doctor have? Show the doctor's name and the count.
-- For each doctor with visits, give the name and the number of visits.
SELECT T2.doctor_name , count(*) FROM Visits AS T1 JOIN Doctors AS T2 ON T1.doctor_id = T2.doctor_id GROUP BY T2.doctor_id

-- @name = Nora Sandoval | Priya Raman
-- On which dates did {name} see patients?
-- List the dates of the visits to doctor {name}.
SELECT T1.visit_date FROM Visits AS T1 JOIN Doctors AS T2 ON T1.doctor_id = T2.doctor_id WHERE T2.doctor_name = '{name}'

-- How many minutes did the visits of {name} take in total?
-- What is the sum of the minutes of all visits by the patient {name}?
-- @name = Alma Berg | David Okafor
SELECT sum(T1.minutes) FROM Visits AS T1 JOIN Patients AS T2 ON T1.patient_id = T2.patient_id WHERE T2.patient_name = '{name}'

-- Which doctors had no visit? Give their names.
-- What are the names of doctors without visits?
SELECT doctor_name FROM Doctors WHERE doctor_id NOT IN (SELECT doctor_id FROM Visits)

-- Which treatments were never given? Show their names.
-- What are the names of treatments not used in any visit?
SELECT treatment_name FROM Treatments WHERE treatment_code NOT IN (SELECT treatment_code FROM Visits)

-- Which doctors earn less than the average doctor? Show the names.
-- List the names of doctors with a salary below the average.
SELECT doctor_name FROM Doctors WHERE salary < (SELECT avg(salary) FROM Doctors)

-- What are the names of patients who had the treatment Laser surgery?
-- Find the different names of the patients that got Laser surgery.
SELECT DISTINCT T1.patient_name FROM Patients AS T1 JOIN Visits AS T2 ON T1.patient_id = T2.patient_id JOIN Treatments AS T3 ON T2.treatment_code = T3.treatment_code WHERE T3.treatment_name = 'Laser surgery'

-- Which treatments have 'surgery' in their name?
-- Show the names of all treatments that contain 'surgery'.
SELECT treatment_name FROM Treatments WHERE treatment_name LIKE '%surgery%'

-- How many visits were there in 2023?
-- Count the visits that took place between 2023-01-01 and 2023-12-31.
SELECT count(*) FROM Visits WHERE visit_date BETWEEN '2023-01-01' AND '2023-12-31'

-- Which female patients are older than 50? Show names and ages.
-- Give the names and ages of patients with gender F who are over 50.
SELECT patient_name , age FROM Patients WHERE gender = 'F' AND age > 50

-- Which specialties have a doctor hired before 2012 as well as a doctor hired after 2019?
-- Find the specialties shared by doctors hired before 2012-01-01 and doctors hired after 2019-12-31.
SELECT specialty FROM Doctors WHERE hired_on < '2012-01-01' INTERSECT SELECT specialty FROM Doctors WHERE hired_on > '2019-12-31'

-- @absence
-- Which patients are older than 95?
-- Show the names of any patients over 95 years of age.
SELECT patient_name FROM Patients WHERE age > 95
