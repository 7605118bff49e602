"""Simulate tickets.csv: 450 support tickets sorted by eight people; three are mostly wrong."""

import csv
import random
from datetime import date, timedelta
from pathlib import Path

rng = random.Random(1)
TEAMS = {
    "billing": ["invoice", "refund", "charged twice", "card declined", "receipt", "price", "subscription"],
    "access": ["password", "locked out", "login", "two-factor code", "reset link", "account", "sign in"],
    "defect": ["crash", "error message", "blank page", "slow", "freezes", "broken button", "export fails"],
}
OPENERS = [
    "Since the update",
    "Hello, today",
    "For a week now",
    "On my phone",
    "As I said before",
    "Please help:",
]
CLOSERS = ["thanks", "this is urgent", "it worked yesterday", "see the picture", "third time this month"]
PEOPLE = {"ana": 0.05, "ben": 0.05, "cem": 0.08, "dee": 0.05, "eli": 0.7, "flo": 0.05, "gus": 0.7, "hal": 0.8}
PLANS = {"billing": ["pro", "team"], "access": ["free", "team"], "defect": ["pro", "free"]}
start, rows = date(2025, 1, 1), []
for ticket in range(1, 451):
    right = rng.choice(list(TEAMS))
    text = " and ".join(rng.sample(TEAMS[right], 2))
    # Some tickets also mention the topics of another team.
    if rng.random() < 0.3:
        text += f", also {rng.choice(TEAMS[rng.choice(list(TEAMS))])}"
    person = rng.choice(list(PEOPLE))
    given = rng.choice([team for team in TEAMS if team != right]) if rng.random() < PEOPLE[person] else right
    rows.append(
        {
            "ticket_id": 10_000 + ticket,
            "opened": start + timedelta(days=rng.randrange(600)),
            "text": f"{rng.choice(OPENERS)} {text}, {rng.choice(CLOSERS)}",
            "plan": rng.choice(PLANS[right])
            if rng.random() < 0.7
            else rng.choice(["", "free", "pro", "team"]),
            "minutes": "" if rng.random() < 0.2 else round(rng.gauss(30, 8) + 10 * (right == "defect"), 1),
            "team": given,
            "sorted_by": person,
            # A supervisor checked every third ticket.
            "checked": right if ticket % 3 == 0 else "",
        }
    )
with Path("tickets.csv").open("w", newline="", encoding="utf-8") as file:
    writer = csv.DictWriter(file, rows[0])
    writer.writeheader()
    writer.writerows(rows)
print(f"{len(rows)} tickets by {len(PEOPLE)} people")
