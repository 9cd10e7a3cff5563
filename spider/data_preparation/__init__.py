"""From Spider as it is published to the data folder that training reads; see scripts/prepare_data.py."""
