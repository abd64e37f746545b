"""What the official Ollama SDK makes of this server, as JSON lines. Arguments: base URL, key."""

import json
import sys

import ollama

client = ollama.Client(host=sys.argv[1], headers={"Authorization": f"Bearer {sys.argv[2]}"})
WEATHER = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather of a city.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string", "description": "Its name"}}},
    },
}


def tell(name, value):
    print(json.dumps({"name": name, "value": value}), flush=True)


def say(text):
    return {"model": "talker", "messages": [{"role": "user", "content": text}]}


tell("models", sorted(model["model"] for model in client.list()["models"]))
answer = client.chat(**say("Hi"), options={"temperature": 0})
tell("chat", answer["message"]["content"])
tell("usage", answer["prompt_eval_count"] > 0 and answer["eval_count"] > 0)
tell("stream", "".join(part["message"]["content"] for part in client.chat(**say("Hi"), stream=True)))
calls = client.chat(**say("weather"), tools=[WEATHER])["message"]["tool_calls"]
tell("tools", [dict(call["function"]["arguments"]) for call in calls])
tell("structured", json.loads(client.chat(**say("json"), format="json")["message"]["content"]))
tell("generate", client.generate(model="talker", prompt="Hi")["response"])
tell("embeddings", [len(vector) for vector in client.embed(model="vectors", input=["a", "b"])["embeddings"]])
tell("show", client.show("talker")["details"]["family"] is not None)
try:
    client.chat(model="nobody", messages=[{"role": "user", "content": "Hi"}])
except ollama.ResponseError as error:
    tell("no such model", [error.status_code, "nobody" in error.error])
try:
    for _ in client.chat(**say("break"), stream=True):
        pass
except ollama.ResponseError as error:
    tell("broken stream", "The engine gave up." in error.error)
