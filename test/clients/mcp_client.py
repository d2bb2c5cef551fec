"""
Signs in, refreshes and calls every tool with FastMCP. The tools are converted by openai-agents' strict mode, whose models send null for
everything that they leave out.
"""
import asyncio
import json
import sys
from urllib.parse import parse_qs, urlsplit

from agents.strict_schema import ensure_strict_json_schema
from fastmcp import Client
from fastmcp.client.auth import OAuth
from mcp.client.auth import AuthorizationCodeResult

known = json.loads(sys.argv[1])


class Browserless(OAuth):
    """The user's browser is the test."""

    async def redirect_handler(self, authorization_url: str) -> None:
        print("OPEN", authorization_url, flush=True)

    async def callback_handler(self) -> AuthorizationCodeResult:
        answer = {name: values[0] for name, values in parse_qs(urlsplit(input()).query).items()}
        return AuthorizationCodeResult(code=answer["code"], state=answer.get("state"), iss=answer.get("iss"))


async def main() -> None:
    auth = Browserless(scopes=["service.mcp", "offline_access"])
    async with Client(f"{known['url']}/mcp", auth=auth) as client:
        first = auth.context.current_tokens
        auth.context.token_expiry_time = 1
        tools = await client.list_tools()
        second = auth.context.current_tokens
        meant = {
            "spaceId": known["spaceId"],
            "spaceIds": [known["spaceId"]],
            "communityId": known["communityId"],
            "date": "2026-12-10",
            "from": "2026-12-10",
            "to": "2026-12-12",
            "startDate": "2026-12-01",
            "endDate": "2026-12-31",
            "startHour": 10,
            "idempotencyKey": "first",
        }
        results = {}
        for tool in tools:
            schema = ensure_strict_json_schema(tool.input_schema)
            properties = schema["properties"]
            assert set(schema.get("required", [])) == set(properties), tool.name
            assert schema["additionalProperties"] is False, tool.name
            optional = [
                name
                for name, property in properties.items()
                if {"type": "null"} in property.get("anyOf", [])
            ]
            arguments = {name: None if name in optional else meant.get(name) for name in properties}
            if "bookingId" in properties:
                arguments["bookingId"] = results["request_booking"]["id"]
            if tool.name == "find_open_days":
                arguments["spaceIds"] = meant["spaceIds"]
            answer = await client.call_tool(tool.name, arguments)
            results[tool.name] = answer.structured_content
        print(
            json.dumps(
                {
                    "refreshed": first.access_token != second.access_token,
                    "called": list(results),
                    "cancelled": results["cancel_booking"]["status"],
                }
            )
        )


asyncio.run(main())
