"""What a code host reads agrees with what the project does."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def read_yaml(name):
    return yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


def test_the_workflow_runs_all_checks_on_every_supported_python():
    jobs = read_yaml(".github/workflows/ci.yml")["jobs"]
    job = jobs["check"]
    assert ".ci/run" in [step.get("run") for step in job["steps"]]
    pythons = job["strategy"]["matrix"]["python"]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    named = [entry.rpartition(" ")[2] for entry in PROJECT["classifiers"] if ":: 3." in entry]
    assert pythons == named
    (site,) = [step["with"]["path"] for step in job["steps"] if step.get("with", {}).get("path")]
    assert f"SITE := {site}\n" in (ROOT / "Makefile").read_text()
    assert "make docs\n" in (ROOT / ".ci/run").read_text()
    elsewhere = jobs["other-systems"]["strategy"]["matrix"]
    assert elsewhere["python"] == [pythons[0], pythons[-1]]
    assert {system.partition("-")[0] for system in elsewhere["system"]} == {"macos", "windows"}


@pytest.mark.parametrize("name", ["ci.yml", "publish.yml"])
def test_actions_are_pinned_by_the_hash_of_a_commit(name):
    text = (ROOT / ".github/workflows" / name).read_text(encoding="utf-8")
    used = re.findall(r"uses: (.+)", text)
    assert used
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40} # v[\d.]+", action) for action in used)


def test_fast_tests_exist():
    lines = (ROOT / ".ci/fast_tests.txt").read_text(encoding="utf-8").splitlines()
    missing = [line for line in lines if not (ROOT / line.removeprefix("--ignore=")).exists()]
    assert missing == []


def test_commit_hooks_are_those_of_the_style_check():
    hooks = read_yaml(".pre-commit-config.yaml")["repos"][0]["hooks"]
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    lines = [line.strip().removeprefix("$(BIN)/") for line in recipe[1].splitlines()]
    # The hooks mend what the check refuses, with the same versions.
    assert [hook["entry"].replace(" --fix", "") for hook in hooks] == [
        line.removesuffix(" .").replace(" --check", "") for line in lines
    ]
    pinned = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    assert all(hook["additional_dependencies"][0] in pinned for hook in hooks)


def test_the_citation_has_the_paper_and_no_version():
    citation = read_yaml("CITATION.cff")
    assert citation["license"] == PROJECT["license"]
    assert "version" not in citation
    title = citation["preferred-citation"]["title"]
    page = " ".join((ROOT / "docs/reproduction.md").read_text(encoding="utf-8").split())
    assert title in page


@pytest.mark.parametrize("form", sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml")))
def test_issue_forms_have_a_required_field(form):
    content = read_yaml(form)
    assert content["name"]
    assert content["description"]
    assert any(entry.get("validations", {}).get("required") for entry in content["body"])


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"])
def test_links_in_project_pages_lead_to_files(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", text):
        assert target.startswith("https://") or (ROOT / target).exists(), target
