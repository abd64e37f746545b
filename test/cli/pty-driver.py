"""Runs a program in a pseudo-terminal and types what a script says.

Reads one JSON object from standard input: {"command": [...], "environment": {...}, "steps": [...]}; steps are
  {"expect": TEXT}    wait until TEXT appears in what was shown after the last expectation
  {"send": TEXT}      type it
  {"signal": NAME}    send the program a signal
  {"end": true}       wait until the program has ended
Writes {"output": everything shown, "exit": code (negative: signal), "failed": null or what was waited for in vain}.
"""

import codecs
import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

DEADLINE = 60.0


class Terminal:
    def __init__(self, command, environment):
        self.shown = ""
        self.seen = 0
        self.exit = None
        self.decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            # 120 columns, so that no prompt is wrapped.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
            os.environ.update(environment)
            os.execvp(command[0], command)

    def read(self, seconds):
        """Reads what is there within the time; False at the end of the output."""
        ready, _, _ = select.select([self.fd], [], [], seconds)
        if not ready:
            return True
        try:
            data = os.read(self.fd, 65536)
        except OSError:
            data = b""
        self.shown += self.decoder.decode(data)
        return data != b""

    def expect(self, text):
        deadline = time.monotonic() + DEADLINE
        while True:
            at = self.shown.find(text, self.seen)
            if at >= 0:
                self.seen = at + len(text)
                return True
            if time.monotonic() > deadline or not self.read(0.2):
                return self.shown.find(text, self.seen) >= 0

    def send(self, text):
        os.write(self.fd, text.encode())

    def end(self):
        deadline = time.monotonic() + DEADLINE
        while time.monotonic() < deadline and self.read(0.2):
            pass
        while self.exit is None and time.monotonic() < deadline:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid != 0:
                self.exit = os.waitstatus_to_exitcode(status)
            else:
                time.sleep(0.02)
        return self.exit is not None

    def perform(self, step):
        if "expect" in step:
            return self.expect(step["expect"])
        if "send" in step:
            self.send(step["send"])
        if "signal" in step:
            os.kill(self.pid, getattr(signal, step["signal"]))
        return self.end() if "end" in step else True


def main():
    script = json.load(sys.stdin)
    terminal = Terminal(script["command"], script["environment"])
    failed = None
    for step in script["steps"]:
        if not terminal.perform(step):
            failed = step
            break
    if terminal.exit is None:
        os.kill(terminal.pid, signal.SIGKILL)
        os.waitpid(terminal.pid, 0)
    print(json.dumps({"output": terminal.shown, "exit": terminal.exit, "failed": failed}))


main()
