"""The two reports as a person sees them: in Chromium, with clicks and typing, and without a network."""

import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from playwright.sync_api import Page, Request, expect, sync_playwright

from spider.evaluation.page import evaluation_page
from spider.evaluation.summary import summarise
from spider.run_report.command import write_report
from spider.run_report.reading import Rollout, RunLog
from tests.unit.evaluation_answers import SETTING, answer, call, turn

HOSTILE = "</script><img src=x onerror=\"document.title='taken'\">&amp;"
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

SECONDS = 60  # a busy machine draws slowly

pytestmark = pytest.mark.skipif(BROWSER is None, reason="no Chromium: apt-get install chromium")


@dataclass
class Opened:
    """A page in the browser, with what it complained of and asked for."""

    page: Page
    complaints: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@pytest.fixture(scope="module")
def opened() -> Iterator[Opened]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        found = Opened(browser.new_page(viewport={"width": 1200, "height": 900}))
        found.page.set_default_timeout(1000 * SECONDS)
        expect.set_options(timeout=1000 * SECONDS)
        found.page.on("pageerror", lambda error: found.complaints.append(str(error)))
        found.page.on("console", lambda message: found.complaints.append(message.text))

        def note(request: Request) -> None:
            if not request.url.startswith(("file:", "data:")):
                found.requests.append(request.url)

        found.page.on("request", note)
        yield found
        browser.close()


@pytest.fixture
def evaluation(opened: Opened, tmp_path: Path) -> Page:
    """The report of four answers: right, wrong after two turns, hostile, failed."""
    turns = [turn(False, "error:syntax", False, "SELEC 1"), turn(False, "rows:count", query="SELECT 2")]
    calls = [call(), call("check_query", "THE QUERY IS INCORRECT."), call("rewrite_query", "SELECT 2")]
    answers = [
        answer(0, question="How many zebras?"),
        answer(1, False, turns=turns, calls=calls, query="SELECT 2", gold="SELECT 42", gold_result="42\n(1 row)"),
        answer(2, False, question=HOSTILE, query=HOSTILE, db_id="zoo", hardness="hard"),
        answer(3, None, failure="timeout", detail="no answer in time", calls=[]),
    ]
    path = tmp_path / "report.html"
    page = evaluation_page("Evaluation", {"model": HOSTILE}, [summarise(SETTING, answers)], {SETTING: answers})
    path.write_text(page, encoding="utf-8")
    opened.page.goto(path.as_uri())
    return opened.page


def test_every_answer_is_in_the_table(evaluation: Page) -> None:
    expect(evaluation.locator("#rows tr.row")).to_have_count(4)
    expect(evaluation.locator("#count")).to_have_text("4 of 4 answers")


def test_typing_finds_the_questions_with_all_words(evaluation: Page) -> None:
    evaluation.fill("#search", "zebras MANY")
    expect(evaluation.locator("#rows tr.row")).to_have_count(1)
    expect(evaluation.locator("#rows tr.row")).to_contain_text("How many zebras?")


def test_filters_narrow_the_table(evaluation: Page) -> None:
    evaluation.select_option("#verdict", "wrong")
    expect(evaluation.locator("#rows tr.row")).to_have_count(2)
    evaluation.select_option("#hardness", "hard")
    expect(evaluation.locator("#count")).to_have_text("1 of 4 answers")


def test_a_click_shows_turns_prompts_and_both_results_side_by_side(evaluation: Page) -> None:
    evaluation.locator("#rows tr.row").nth(1).click()
    details = evaluation.locator("tr.details")
    for text in ("SELEC 1", "SELECT 42", "42\n(1 row)", "THE QUERY IS INCORRECT."):
        expect(details).to_contain_text(text)
    predicted, gold = (details.locator(".side > div").nth(at).bounding_box() for at in (0, 1))
    assert predicted
    assert gold
    assert predicted["y"] == gold["y"]
    assert predicted["x"] + predicted["width"] <= gold["x"]
    details.locator("summary").first.click()
    expect(details.locator("details pre").first).to_contain_text("Question: how many?")


def test_a_failed_answer_says_why(evaluation: Page) -> None:
    evaluation.select_option("#verdict", "failed")
    evaluation.locator("#rows tr.row").click()
    expect(evaluation.locator("tr.details")).to_contain_text("no answer in time")


def test_every_figure_is_drawn(evaluation: Page) -> None:
    widths = evaluation.locator("figure img").evaluate_all("images => images.map(image => image.naturalWidth)")
    assert len(widths) == 5
    assert all(width > 100 for width in widths)


def test_what_a_model_says_stays_text(evaluation: Page, opened: Opened) -> None:
    evaluation.locator("#rows tr.row").nth(2).click()
    expect(evaluation.locator("tr.details pre").first).to_have_text(HOSTILE)
    assert evaluation.title() == "Evaluation"
    assert evaluation.locator("body img[src=x]").count() == 0


def test_the_page_needs_nothing_else_and_complains_of_nothing(evaluation: Page, opened: Opened) -> None:
    assert (opened.requests, opened.complaints) == ([], [])


def test_the_page_fits_a_phone(evaluation: Page) -> None:
    evaluation.set_viewport_size({"width": 390, "height": 800})
    evaluation.locator("#rows tr.row").nth(1).click()
    columns = evaluation.locator(".side > div").evaluate_all("all => all.map(each => each.getBoundingClientRect().x)")
    assert columns[0] == columns[1]
    evaluation.set_viewport_size({"width": 1200, "height": 900})


def test_a_runs_report_shows_a_question_before_and_after(opened: Opened, tmp_path: Path) -> None:
    def rollout(step: int, query: str, reward: float) -> Rollout:
        turns = [{"node": "write_query", "text": f"{query} {HOSTILE}"}]
        common = {"uid": "u", "question": "How many?", "db_id": "pets", "gold": "SELECT 1", "calls": 1, "dropped": None}
        return Rollout(**{**common, "step": step, "mode": "val", "query": query, "turns": turns, "reward": reward})

    progress = [
        {"step": 0.0, "validation_accuracy": 0.0},
        {"step": 1.0, "reward": 0.5},
        {"step": 5.0, "validation_accuracy": 1.0},
    ]
    run = RunLog(tmp_path, progress, [rollout(0, "SELECT 7", 0.0), rollout(5, "SELECT 1", 1.0)], {}, "", "finished")
    page = opened.page
    page.goto(write_report(run, tmp_path / "report").as_uri())
    expect(page.locator("#rows tr.row")).to_have_count(1)
    expect(page.locator("#rows tr.row")).to_contain_text("wrong → right")
    expect(page.locator("#count")).to_have_text("1 of 1 rollouts")
    expect(page.locator("#mode")).to_be_hidden()  # there is nothing to choose
    page.locator("#rows tr.row").click()
    sides = page.locator("tr.details .side > div")
    expect(sides.nth(0)).to_contain_text(re.compile("Step 0.*SELECT 7", re.DOTALL))
    expect(sides.nth(1)).to_contain_text(re.compile("Step 5.*SELECT 1", re.DOTALL))
    assert page.title() == f"Training run {tmp_path.name}"
    assert (opened.requests, opened.complaints) == ([], [])
