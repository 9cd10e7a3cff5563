from pathlib import Path

import pytest

from tests.unit.spider_layout import make_spider


@pytest.fixture
def spider(tmp_path: Path) -> Path:
    """A folder in Spider's own layout: two training databases, bakery's questions as dev, zoo's as test."""
    return make_spider(tmp_path / "spider_data")
