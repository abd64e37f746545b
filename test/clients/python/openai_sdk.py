"""What the official OpenAI SDK makes of this server, as JSON lines. Arguments: base URL, key."""

import json
import sys

import openai
from pydantic import BaseModel

client = openai.OpenAI(base_url=f"{sys.argv[1]}/v1", api_key=sys.argv[2], max_retries=0)
WEATHER = {
    "type": "function",
    "function": {"name": "get_weather", "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}},
}


class Person(BaseModel):
    name: str
    age: int


def tell(name, value):
    print(json.dumps({"name": name, "value": value}), flush=True)


def say(text):
    return {"model": "talker", "messages": [{"role": "user", "content": text}]}


tell("models", sorted(model.id for model in client.models.list()))
answer = client.chat.completions.create(**say("Hi"), temperature=0)
tell("chat", answer.choices[0].message.content)
tell("usage", answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens)
chunks = list(client.chat.completions.create(**say("Hi"), stream=True, stream_options={"include_usage": True}))
tell("stream", "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices))
tell("stream usage", [chunk.usage.total_tokens for chunk in chunks if chunk.usage] == [answer.usage.total_tokens])
calls = client.chat.completions.create(**say("weather"), tools=[WEATHER]).choices[0].message.tool_calls
tell("tools", [json.loads(call.function.arguments) for call in calls])
history = [
    {"role": "user", "content": "weather"},
    {"role": "assistant", "content": None, "tool_calls": [call.model_dump() for call in calls]},
    *({"role": "tool", "tool_call_id": call.id, "content": "mild"} for call in calls),
]
answer = client.chat.completions.create(model="talker", messages=history, tools=[WEATHER])
tell("tool results", answer.choices[0].message.content)
with client.beta.chat.completions.stream(**say("weather"), tools=[WEATHER]) if hasattr(
    client.beta, "chat"
) else client.chat.completions.stream(**say("weather"), tools=[WEATHER]) as stream:
    final = stream.get_final_completion()
tell("streamed tools", [json.loads(call.function.arguments) for call in final.choices[0].message.tool_calls])
parse = client.beta.chat.completions.parse if hasattr(client.beta, "chat") else client.chat.completions.parse
tell("structured", parse(**say("json"), response_format=Person).choices[0].message.parsed.model_dump())
tell("response", client.responses.create(model="talker", input="Hi").output_text)
events = list(client.responses.create(model="talker", input="Hi", stream=True))
tell("response stream", "".join(event.delta for event in events if event.type == "response.output_text.delta"))
vectors = client.embeddings.create(model="vectors", input=["a", "b"])
floats = client.embeddings.create(model="vectors", input=["a", "b"], encoding_format="float")
tell("embeddings", [len(one.embedding) for one in vectors.data])
tell("BR-32", all(
    abs(x - y) < 1e-6 for one, other in zip(vectors.data, floats.data) for x, y in zip(one.embedding, other.embedding)
))
tell("completion", client.completions.create(model="talker", prompt="Hi").choices[0].text)
for name, text in [("no such model", None), ("too long", "huge"), ("queue", "crowd")]:
    try:
        client.chat.completions.create(**{**say(text or "Hi"), **({} if text else {"model": "nobody"})})
    except openai.APIStatusError as error:
        tell(name, [type(error).__name__, error.status_code, error.code])
try:
    for _ in client.chat.completions.create(**say("break"), stream=True):
        pass
except openai.APIError as error:
    tell("broken stream", error.message)
