"""Drives the page of a lab in Chromium for page.rs."""

import pathlib
import sys

from playwright.sync_api import expect, sync_playwright

URL, FOLDER = sys.argv[1:3]
problems = []

with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    expect.set_options(timeout=15_000)

    def open_page(width, height, **options):
        page = browser.new_context(viewport={"width": width, "height": height}, **options).new_page()
        page.on("console", lambda message: message.type == "error" and problems.append(message.text))
        page.on("pageerror", lambda error: problems.append(str(error)))
        page.goto(URL)
        expect(page.locator("#state")).to_contain_text("runs")
        return page

    def picture(page, name):
        if FOLDER:
            page.screenshot(path=pathlib.Path(FOLDER) / f"{name}.png")

    page = open_page(1280, 800)
    assert page.title() == "pair – wire lab", page.title()
    expect(page.locator(".node")).to_have_count(3)
    expect(page.locator("#links tr")).to_have_count(4)
    # 400 kb/s of datagrams with their headers.
    expect(page.locator("#links tr").nth(0)).to_contain_text("kbit/s")

    # In slow motion frames are seen on the link; a pause keeps them where they are.
    page.locator("#speed").evaluate("(slider) => { slider.value = -2; slider.dispatchEvent(new Event('change')); }")
    expect(page.locator("#pace")).to_have_text("10 ms a second")
    expect(page.locator(".flight.udp").first).to_be_attached()
    picture(page, "slow")
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#state")).to_contain_text("stands still")
    before = page.locator("#now").text_content()
    page.get_by_role("button", name="Step").click()
    expect(page.locator("#now")).not_to_have_text(before)
    page.get_by_role("button", name="Run", exact=True).click()

    # A node by keyboard: its counters, and a ping.
    page.get_by_role("button", name="h2, host").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#title")).to_have_text("h2, host")
    expect(page.locator("#shown")).to_contain_text("10.0.0.2:5001")
    page.get_by_label("Ping", exact=True).fill("h1")
    page.get_by_role("button", name="Send").click()
    page.locator("#speed").evaluate("(slider) => { slider.value = 1; slider.dispatchEvent(new Event('change')); }")
    expect(page.locator("#log")).to_contain_text("ping from h2 to h1: answered")
    page.locator("#speed").evaluate("(slider) => { slider.value = 0; slider.dispatchEvent(new Event('change')); }")
    page.get_by_label("Ping", exact=True).fill("h9")
    page.get_by_role("button", name="Send").click()
    expect(page.locator("#error")).to_contain_text("there is no node `h9`")

    # A link by the table: charts, down and up.
    page.locator("#links tr").nth(0).click()
    expect(page.locator("#title")).to_have_text("h1.0 – sw.0")
    expect(page.locator("#throughput polyline")).to_have_count(2)
    page.get_by_role("button", name="Take the link down").click()
    expect(page.locator("#links tr").nth(0)).to_contain_text("down")
    page.get_by_role("button", name="Bring the link up").click()
    expect(page.locator("#links tr").nth(0)).not_to_contain_text("down")
    picture(page, "link")

    # Narrow and dark: nothing is wider than the screen.
    narrow = open_page(390, 800, color_scheme="dark")
    expect(narrow.locator("#links tr")).to_have_count(4)
    picture(narrow, "narrow")
    assert narrow.evaluate("document.documentElement.scrollWidth") <= 390

    # To the end.
    page.get_by_role("button", name="Max").click()
    expect(page.locator("#state")).to_have_text("the lab is over")
    expect(page.locator("#log")).to_contain_text("the lab is over")
    # The refused ping is the one request that failed.
    assert [text for text in problems if "400" not in text] == [], problems
    browser.close()
