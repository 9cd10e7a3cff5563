CREATE TABLE Doctors (
    doctor_id INTEGER PRIMARY KEY,
    doctor_name VARCHAR(40) NOT NULL,
    specialty VARCHAR(30),
    hired_on DATE,
    salary INTEGER
);
CREATE TABLE Patients (
    patient_id INTEGER PRIMARY KEY,
    patient_name VARCHAR(40) NOT NULL,
    gender CHAR(1),
    age INTEGER,
    town VARCHAR(30),
    phone VARCHAR(20)
);
CREATE TABLE Treatments (
    treatment_code CHAR(4) PRIMARY KEY,
    treatment_name VARCHAR(40),
    cost INTEGER
);
CREATE TABLE Visits (
    visit_id INTEGER PRIMARY KEY,
    patient_id INTEGER NOT NULL REFERENCES Patients(patient_id),
    doctor_id INTEGER NOT NULL REFERENCES Doctors(doctor_id),
    treatment_code CHAR(4) REFERENCES Treatments(treatment_code),
    visit_date DATE,
    minutes INTEGER
);
INSERT INTO Doctors VALUES
(1, 'Nora Sandoval', 'Retina', '2010-04-01', 142000), (2, 'Émile Laurent', 'Cornea', '2015-09-15', 151000),
(3, 'Priya Raman', 'Glaucoma', '2018-02-20', 119000), (4, 'Gustav Weiß', 'Retina', '2020-07-01', 105000),
(5, 'Helen Osei', 'Children', '2013-11-11', 121000), (6, 'Tariq Aziz', 'Cornea', '2022-03-07', 98000);
INSERT INTO Patients VALUES
(1, 'Alma Berg', 'F', 34, 'Lakeside', '555-0111'), (2, 'Bruno Costa', 'M', 67, 'Hilltown', NULL),
(3, 'Chloé Petit', 'F', 8, 'Lakeside', '555-0113'), (4, 'David Okafor', 'M', 45, 'Marsh End', '555-0114'),
(5, 'Eszter Kovács', 'F', 72, 'Hilltown', '555-0115'), (6, 'Farid Haddad', 'M', 29, 'Lakeside', NULL),
(7, 'Greta Lind', 'F', 55, 'Port Ross', '555-0117'), (8, 'Hiro Sato', 'M', 11, 'Marsh End', '555-0118'),
(9, 'Irene Papas', 'F', 61, 'Port Ross', '555-0119'), (10, 'João Silva', 'M', 38, 'Hilltown', '555-0120'),
(11, 'Karin Müller', 'F', 80, 'Lakeside', NULL), (12, 'Leo Hart', 'M', 19, 'Port Ross', '555-0122');
INSERT INTO Treatments VALUES
('EXAM', 'Eye exam', 60), ('LASR', 'Laser surgery', 1450), ('DROP', 'Eye drops', 35), ('LENS', 'Lens fitting', 180),
('CATA', 'Cataract surgery', 2100), ('PTCH', 'Eye patch', 25);
INSERT INTO Visits
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 54)
SELECT i, 1 + i * 7 % 11, 1 + (i * 3 + i / 5) % 5, substr('EXAMLASRDROPEXAMLENSCATAEXAM', 1 + i * 5 % 7 * 4, 4),
       date('2022-10-03', '+' || (i * 8) || ' days'), 10 + i * 13 % 50 FROM n;
