"""Signs in, refreshes and calls every operation with requests-oauthlib."""
import json
import os
import sys

import requests
from requests_oauthlib import OAuth2Session

known = json.loads(sys.argv[1])
url = known["url"]
os.environ["OAUTHLIB_INSECURE_TRANSPORT"] = "1"
redirect_uri = "http://127.0.0.1:9/callback"
metadata = requests.get(f"{url}/.well-known/openid-configuration").json()
registration = {
    "client_name": "requests-oauthlib",
    "redirect_uris": [redirect_uri],
    "grant_types": ["authorization_code", "refresh_token"],
    "token_endpoint_auth_method": "none",
}
client_id = requests.post(metadata["registration_endpoint"], json=registration).json()["client_id"]

saved = []
session = OAuth2Session(
    client_id,
    redirect_uri=redirect_uri,
    scope=["openid", "offline_access", "service.api.read", "service.api.write", "service.api.webhooks"],
    pkce="S256",
    auto_refresh_url=metadata["token_endpoint"],
    auto_refresh_kwargs={"client_id": client_id, "resource": "api"},
    token_updater=saved.append,
)
link, _ = session.authorization_url(metadata["authorization_endpoint"], resource="api")
print("OPEN", link, flush=True)
session.fetch_token(
    metadata["token_endpoint"], authorization_response=input(), include_client_id=True, resource="api"
)
# The next call refreshes first.
session.token = {**session.token, "expires_in": -10, "expires_at": 1}

statuses = {}


def call(operation, method, path, **more):
    answer = session.request(method, f"{url}/api/v1{path}", **more)
    statuses[operation] = answer.status_code
    return answer.json() if answer.content else None


space, booking = known["spaceId"], known["bookingId"]
call("listSpaces", "GET", "/spaces")
session.token = saved[-1]
call("getSpace", "GET", f"/spaces/{space}")
call("getAvailability", "GET", f"/spaces/{space}/availability", params={"date": "2026-12-10"})
request = {"spaceId": space, "startTime": "2026-12-10", "startHour": 10, "message": None}
booked = call("createBooking", "POST", "/bookings", json=request, headers={"Idempotency-Key": "first"})
to = {"startTime": "2026-12-11"}
call("moveBooking", "POST", f"/bookings/{booked['id']}/move", json=to)
call("listBookings", "GET", "/bookings", params={"status": "Pending"})
call("getBooking", "GET", f"/bookings/{booking}")
call("getBookingHistory", "GET", f"/bookings/{booking}/history")
call("listReviews", "GET", f"/communities/{known['communityId']}/reviews")
webhook = call("createWebhook", "POST", "/webhooks", json={"url": "https://hooks.example.com/", "events": 15})
call("listWebhooks", "GET", "/webhooks")
call("deleteWebhook", "DELETE", f"/webhooks/{webhook['id']}")
# The community takes the move by asking for the same.
session = requests.Session()
session.headers["Authorization"] = f"Bearer {known['communityKey']}"
moved = call("moveBooking", "POST", f"/bookings/{booked['id']}/move", json=to)
call("createCustomer", "POST", "/customers", json={"name": "Choir"})
customers = call("listCustomers", "GET", "/customers", params={"q": "choir"})
done = {
    "refreshed": len(saved),
    "statuses": statuses,
    "moved": [moved["date"], moved["status"]],
    "customers": [customer["name"] for customer in customers],
}
print(json.dumps(done))
