CREATE TABLE stall (
    stall_id INTEGER PRIMARY KEY,
    stall_name TEXT NOT NULL,
    cuisine TEXT,
    opened INTEGER,
    rating REAL
);

CREATE TABLE dish (
    dish_id INTEGER PRIMARY KEY,
    stall_id INTEGER NOT NULL REFERENCES stall(stall_id),
    dish_name TEXT,
    price REAL,
    vegetarian TEXT,
    calories INTEGER
);

CREATE TABLE customer (
    customer_id INTEGER PRIMARY KEY,
    first_name TEXT,
    last_name TEXT,
    email TEXT
);

CREATE TABLE "order" (
    order_id INTEGER PRIMARY KEY,
    customer_id INTEGER REFERENCES customer(customer_id),
    dish_id INTEGER REFERENCES dish(dish_id),
    quantity INTEGER,
    order_date DATE,
    status TEXT
);
