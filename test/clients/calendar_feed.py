"""Reads a calendar feed as a calendar program does, and prints its events in the zone of the reader."""

import json
import sys
import urllib.request
from datetime import datetime
from zoneinfo import ZoneInfo

from icalendar import Calendar

url, zone = sys.argv[1], ZoneInfo(sys.argv[2])
with urllib.request.urlopen(url) as answer:
    calendar = Calendar.from_ical(answer.read())

events = []
for event in calendar.walk("VEVENT"):
    start, end = event.decoded("DTSTART"), event.decoded("DTEND")
    assert not event.errors, event.errors
    if not isinstance(start, datetime):
        # Whole days have no zone.
        events.append([str(event["SUMMARY"]), start.isoformat(), end.isoformat(), None])
        continue
    assert start.utcoffset().total_seconds() == 0, start
    hours = (end - start).total_seconds() / 3600
    events.append([str(event["SUMMARY"]), start.astimezone(zone).isoformat(), end.astimezone(zone).isoformat(), hours])
print(json.dumps(sorted(events)))
