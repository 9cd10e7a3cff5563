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
