"""Types of command-line arguments that several commands share."""


def positive(text: str) -> int:
    """A whole number from 1 on."""
    number = int(text)
    if number < 1:
        raise ValueError
    return number


def positives(text: str) -> list[int]:
    """Whole numbers from 1 on, with commas between."""
    return [positive(part) for part in text.split(",")]
