"""What the official Anthropic SDK makes of this server, as JSON lines. Arguments: base URL, key."""

import json
import sys

import anthropic

client = anthropic.Anthropic(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
WEATHER = {"name": "get_weather", "input_schema": {"type": "object", "properties": {"city": {"type": "string"}}}}


def tell(name, value):
    print(json.dumps({"name": name, "value": value}), flush=True)


def say(text):
    return {"model": "talker", "max_tokens": 100, "messages": [{"role": "user", "content": text}]}


answer = client.messages.create(**say("Hi"))
tell("message", answer.content[0].text)
tell("usage", answer.usage.input_tokens > 0 and answer.usage.output_tokens > 0)
with client.messages.stream(**say("Hi")) as stream:
    tell("stream", "".join(stream.text_stream))
called = client.messages.create(**say("weather"), tools=[WEATHER])
calls = [block for block in called.content if block.type == "tool_use"]
tell("tools", [call.input for call in calls])
results = [{"type": "tool_result", "tool_use_id": call.id, "content": "mild"} for call in calls]
history = [
    {"role": "user", "content": "weather"},
    {"role": "assistant", "content": [block.model_dump(exclude_none=True) for block in called.content]},
    {"role": "user", "content": results},
]
answer = client.messages.create(model="talker", max_tokens=100, messages=history, tools=[WEATHER])
tell("tool results", answer.content[0].text)
with client.messages.stream(**say("weather"), tools=[WEATHER]) as stream:
    final = stream.get_final_message()
tell("streamed tools", [block.input for block in final.content if block.type == "tool_use"])
for name, text in [("no such model", None), ("queue", "crowd")]:
    try:
        client.messages.create(**{**say(text or "Hi"), **({} if text else {"model": "nobody"})})
    except anthropic.APIStatusError as error:
        tell(name, [type(error).__name__, error.status_code])
try:
    with client.messages.stream(**say("break")) as stream:
        for _ in stream.text_stream:
            pass
except anthropic.APIError as error:
    tell("broken stream", "The engine gave up." in str(error))
