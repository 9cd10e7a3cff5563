CREATE TABLE Branch (
    Branch_Id INTEGER PRIMARY KEY,
    Branch_Name TEXT NOT NULL,
    City TEXT,
    Opening_Year INTEGER,
    Staff INTEGER
);

CREATE TABLE Product (
    Product_Id INTEGER PRIMARY KEY,
    Product_Name TEXT NOT NULL,
    "Group" TEXT,
    Price REAL,
    Weight_Grams INTEGER
);

CREATE TABLE Baker (
    Baker_Id INTEGER PRIMARY KEY,
    Name TEXT NOT NULL,
    Branch_Id INTEGER REFERENCES Branch(Branch_Id),
    Salary INTEGER,
    Hired DATE
);

CREATE TABLE Sale (
    Sale_Id INTEGER PRIMARY KEY,
    Branch_Id INTEGER REFERENCES Branch(Branch_Id),
    Product_Id INTEGER REFERENCES Product(Product_Id),
    Sale_Date DATE,
    Pieces INTEGER
);
