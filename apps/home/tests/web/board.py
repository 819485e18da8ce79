"""Drives the board in Chromium for board.rs: says on stdout what it has done, and goes on after a line on stdin."""

import pathlib
import sys

from playwright.sync_api import expect, sync_playwright

URL, PASSWORD, FOLDER = sys.argv[1:4]
GUEST, SECOND, ANNA = "02:00:00:00:01:01", "02:00:00:00:01:02", "02:00:00:00:00:02"
OTHER_PHONE, SAME_LAPTOP, LAPTOP = "02:00:00:00:01:04", "02:00:00:00:01:05", "02:00:00:00:00:01"
problems = []


def said(text):
    print(text, flush=True)
    if sys.stdin.readline().strip() != "go on":
        sys.exit("the test has ended")


def open_page(browser, width, height, **options):
    context = browser.new_context(viewport={"width": width, "height": height}, ignore_https_errors=True, **options)
    page = context.new_page()
    # Scripts from device names and violations of the CSP appear here.
    page.on("console", lambda message: message.type == "error" and problems.append(message.text))
    page.on("pageerror", lambda error: problems.append(str(error)))
    page.on("dialog", lambda dialog: (problems.append(dialog.message), dialog.dismiss()))
    page.goto(URL)
    page.get_by_label("Password of the household").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#state")).to_have_text("Live")
    return page


def label(page, panel, mac):
    return page.locator(f'#{panel} .device[data-mac="{mac}"]')


def centre(locator):
    box = locator.bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def picture(page, name):
    if FOLDER:
        page.screenshot(path=pathlib.Path(FOLDER) / f"{name}.png", full_page=not name.endswith("details"))


with sync_playwright() as playwright:
    browser = playwright.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
    expect.set_options(timeout=15_000)
    board = open_page(browser, 1280, 800)
    second = open_page(browser, 1280, 800)
    said("signed in")

    # A guest appears on both boards, with a hostile name.
    for page in (board, second):
        expect(label(page, "asking", GUEST)).to_be_visible()
        expect(label(page, "asking", GUEST).locator(".name")).to_have_text("<script>alert(1)</script>")
    assert board.evaluate("document.scripts.length") == 1
    assert board.title().startswith("(")
    expect(board.locator("#live")).to_contain_text("asks to join")
    said("guests seen")

    # Dragging with the mouse permits the guest; the other board shows it without a reload.
    second.evaluate("window.kept = true")
    text = label(board, "asking", GUEST).locator(".text")
    board.mouse.move(*centre(text))
    board.mouse.down()
    board.mouse.move(*centre(board.locator("#asking")), steps=4)
    board.mouse.move(*centre(board.locator("#permitted")), steps=8)
    expect(board.locator("#permitted")).to_have_class("panel target")
    expect(board.locator("#rehearsal")).to_contain_text("Other flows may begin to pass")
    board.mouse.up()
    expect(board.locator("#rehearsal")).to_be_hidden()
    for page in (board, second):
        expect(label(page, "permitted", GUEST)).to_be_visible()
    assert second.evaluate("window.kept")
    said("dragged")

    # Escape ends a drag, and a drop on the panel of its own does nothing.
    text = label(board, "permitted", GUEST).locator(".text")
    board.mouse.move(*centre(text))
    board.mouse.down()
    board.mouse.move(*centre(board.locator("#out")), steps=8)
    expect(board.locator("#rehearsal")).to_contain_text("Would break: 203.0.113.80 (web (HTTPS), 3 kB")
    picture(board, "1280-rehearsal")
    board.keyboard.press("Escape")
    board.mouse.up()
    expect(label(board, "permitted", GUEST)).to_be_visible()
    said("drag ended")

    # A device that seems to be another one again: both answers, by mouse and by keyboard.
    question = label(board, "asking", OTHER_PHONE).get_by_role("group", name="Is this Anna's phone again?")
    expect(question).to_contain_text("the same name (annas-phone)")
    expect(question).to_contain_text("can forge")
    picture(board, "1280-question")
    question.get_by_role("button", name="No, another").click()
    for page in (board, second):
        expect(label(page, "asking", OTHER_PHONE)).to_be_visible()
        expect(label(page, "asking", OTHER_PHONE).locator(".again")).to_be_hidden()
    said("no said")
    yes = label(board, "asking", SAME_LAPTOP).get_by_role("button", name="Yes, the same")
    expect(yes).to_be_visible()
    yes.focus()
    board.keyboard.press("Enter")
    for page in (board, second):
        expect(label(page, "permitted", SAME_LAPTOP)).to_be_visible()
        expect(page.locator(f'.device[data-mac="{LAPTOP}"]')).to_have_count(0)
    expect(label(board, "permitted", SAME_LAPTOP)).to_be_focused()
    said("yes said")

    # By keyboard: the arrows decide, and the focus stays with the label.
    board.keyboard.press("Tab")
    label(board, "permitted", GUEST).focus()
    expect(board.locator("#rehearsal")).to_contain_text("Would break: 203.0.113.80")
    board.keyboard.press("ArrowLeft")
    expect(label(board, "out", GUEST)).to_be_focused()
    said("denied by key")
    board.keyboard.press("ArrowRight")
    expect(label(second, "permitted", GUEST)).to_be_visible()
    board.keyboard.press("Enter")
    details = board.locator("#details")
    expect(details).to_be_visible()
    said("permitted by key")

    # The details: names, a rule, a pause.
    details.get_by_label("Name").fill('Steve\'s <b>laptop</b>')
    details.get_by_label("Person").fill("Steve")
    details.locator("#names").get_by_role("button", name="Save").click()
    expect(board.locator("#details-title")).to_have_text("Steve's <b>laptop</b>")
    details.get_by_label("Domain", exact=True).fill("ads.example")
    expect(details.locator("#rehearsed")).to_contain_text("flows of the last hour")
    details.locator("#rule").get_by_role("button", name="Deny").click()
    expect(details.locator("#domains")).to_contain_text("ads.example: denied")
    details.get_by_label("Domain", exact=True).fill("no domain")
    details.locator("#rule").get_by_role("button", name="Permit").click()
    expect(details.get_by_role("alert")).to_contain_text("a domain is labels")
    details.get_by_role("button", name="Pause").click()
    expect(details.get_by_role("button", name="Resume")).to_be_visible()
    expect(details.locator("#history li").first).to_contain_text("is paused")
    expect(details.locator("#facts")).to_contain_text("25 % of its bytes")
    limits = details.get_by_label("Limits of this device")
    limits.get_by_label("Days").select_option("Sunday to Thursday")
    limits.get_by_role("button", name="Add").click()
    expect(limits.locator(".times")).to_contain_text("sun-thu 21:00-07:00")
    limits.get_by_label("Gigabytes a day").fill("1.5")
    limits.get_by_role("button", name="Save").click()
    expect(limits).to_contain_text("0 B of 1.5 GB used since 00:00")
    picture(board, "1280-light-details")
    said("details set")
    board.keyboard.press("Escape")
    expect(label(second, "permitted", GUEST).locator(".note")).to_contain_text("paused")

    # The devices of a person are together, and one button pauses all of them, also by keyboard.
    names = second.locator("#permitted .person h3")
    expect(names).to_have_text(["Anna", "Roberto", "Steve", "Tom"])
    second.get_by_role("button", name="Pause all devices of Anna").focus()
    second.keyboard.press("Enter")
    expect(board.locator("#permitted .person").first).to_contain_text("1 device · paused")
    expect(label(board, "permitted", ANNA).locator(".note")).to_contain_text("all devices of the owner are paused")
    said("person paused")
    board.get_by_role("button", name="Limits of Anna").click()
    person = board.locator("#person")
    expect(person.locator("#person-devices")).to_have_text("Devices: Anna's phone")
    person.get_by_role("button", name="Resume").click()
    person.get_by_label("Days").select_option("Every day")
    person.get_by_label("From").fill("00:00")
    person.get_by_label("Until").fill("23:59")
    person.get_by_role("button", name="Add").click()
    expect(person.locator(".times")).to_contain_text("daily 00:00-23:59")
    expect(label(second, "permitted", ANNA).locator(".note")).to_contain_text("bedtime until")
    picture(board, "1280-person-details")
    said("bedtime set")
    person.get_by_role("button", name="Remove the bedtime daily 00:00-23:59").click()
    expect(label(second, "permitted", ANNA).locator(".note")).not_to_contain_text("bedtime")
    board.keyboard.press("Escape")
    said("bedtime removed")

    # An invitation: its QR code and its link are shown once.
    board.get_by_role("button", name="Invite").click()
    invite = board.locator("#invite")
    invite.get_by_label("Number of devices").fill("2")
    invite.get_by_label("Person").fill("Guests")
    invite.get_by_role("button", name="Make an invitation").click()
    expect(invite.get_by_role("img", name="QR code of the link")).to_be_visible()
    link = invite.locator("output").inner_text()
    expect(invite.locator("#invitations")).to_contain_text("0 of 2 devices · for Guests")
    picture(board, "1280-invite-details")
    said("invited")
    guest = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark").new_page()
    guest.goto(link)
    # This browser is no device of the home.
    expect(guest.get_by_role("status")).to_contain_text("does not wait for a decision")
    assert "#" not in guest.url
    picture(guest, "390-invitation")
    guest.context.close()
    invite.get_by_role("button", name="Revoke").click()
    expect(invite.locator("#invitations")).to_contain_text("ended")
    board.keyboard.press("Escape")
    board.get_by_role("button", name="Invite").click()
    expect(invite.locator("svg")).to_have_count(0)
    board.keyboard.press("Escape")

    # Destinations of messages: secrets are not shown again.
    board.get_by_role("button", name="Messages").click()
    webhook = board.locator("#webhook")
    webhook.get_by_label("URL").fill("https://192.0.2.1/hook")
    webhook.get_by_role("button", name="Save").click()
    expect(webhook.get_by_role("status")).to_contain_text("not shown again: whsec_")
    picture(board, "1280-messages-details")
    said("webhook set")
    board.keyboard.press("Escape")
    board.get_by_role("button", name="Messages").click()
    expect(webhook.get_by_label("URL")).to_have_value("https://192.0.2.1/hook")
    assert "whsec_" not in board.locator("#messages").inner_text()
    webhook.get_by_role("button", name="Remove").click()
    expect(webhook.get_by_label("URL")).to_have_value("")
    board.keyboard.press("Escape")

    # Touch, at the width of a phone: the grip drags a label to a bar at the edge.
    phone = open_page(browser, 390, 844, has_touch=True, is_mobile=True, color_scheme="dark")
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390, "nothing is wider than the page"
    touch = phone.context.new_cdp_session(phone)

    def finger(kind, points):
        touch.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": [{"x": x, "y": y} for x, y in points]})

    label(phone, "asking", SECOND).scroll_into_view_if_needed()
    x, y = centre(label(phone, "asking", SECOND).locator(".grip"))
    finger("touchStart", [(x, y)])
    for step in range(1, 9):
        finger("touchMove", [(x + step * 5, y + (40 - y) * step / 8)])
    expect(phone.locator(".zone[data-drop=permit]")).to_be_visible()
    picture(phone, "390-dark-details")
    finger("touchEnd", [])
    expect(label(phone, "permitted", SECOND)).to_be_visible()
    said("dragged by finger")

    if FOLDER:
        for width, height in ((390, 844), (1280, 800)):
            for scheme in ("light", "dark"):
                page = open_page(browser, width, height, color_scheme=scheme)
                page.wait_for_timeout(2500)
                picture(page, f"{width}-{scheme}")
                page.context.close()
        page = browser.new_context(viewport={"width": 390, "height": 844}, ignore_https_errors=True).new_page()
        page.goto(URL)
        page.get_by_label("Password of the household").wait_for()
        picture(page, "390-sign-in")

    # Signing out on one board leaves the other one signed in; a new password does not.
    second.get_by_role("button", name="Sign out").click()
    expect(second.get_by_label("Password of the household")).to_be_visible()
    assert second.locator(".device").count() == 0
    expect(phone.locator("#state")).to_have_text("Live")
    phone.get_by_role("button", name="Password").click()
    phone.get_by_label("Present password").fill(PASSWORD)
    phone.get_by_label("New password, 10 characters or more").last.fill("another long password")
    phone.get_by_role("button", name="Change").click()
    expect(board.get_by_label("Password of the household")).to_be_visible()
    assert board.locator(".device").count() == 0
    expect(phone.locator("#state")).to_have_text("Live")
    browser.close()
    # The console also shows error responses, such as the one for the invalid domain.
    expected = ("the server responded with a status of 400", "the server responded with a status of 403")
    problems = [text for text in problems if not any(each in text for each in expected)]
    assert not problems, problems
    said("end")
