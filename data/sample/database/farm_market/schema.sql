CREATE TABLE farm (
    farm_id INTEGER PRIMARY KEY,
    farm_name TEXT NOT NULL,
    owner TEXT,
    village TEXT,
    hectares REAL,
    organic INTEGER
);

CREATE TABLE product (
    product_id INTEGER PRIMARY KEY,
    product_name TEXT NOT NULL,
    category TEXT,
    unit_price REAL
);

CREATE TABLE market (
    market_id INTEGER PRIMARY KEY,
    market_name TEXT,
    town TEXT,
    "day of week" TEXT
);

CREATE TABLE delivery (
    delivery_id INTEGER PRIMARY KEY,
    farm_id INTEGER REFERENCES farm(farm_id),
    product_id INTEGER REFERENCES product(product_id),
    market_id INTEGER REFERENCES market(market_id),
    delivered_on DATE,
    amount INTEGER
);
