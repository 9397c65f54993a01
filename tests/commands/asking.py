"""What the tests of commands share: how one ended, and the runs that they ask about."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

FUSED_VISION = "001_fused_vision_multihead_attention_with_norms_backward"
GQA_BACKWARD = "003_grouped_query_attention_with_rope_backward"

HOSTILE = 'Mal\x1b[31mory [bold]=cmd()|`x`\n1  <script> "\u202e\x9b2J'
OF_HOSTILE_NAME = 900_001
FLAGGED = 900_002
NO_RUN = 900_003
RETRACTED = 30523  # was the first of its group


@dataclass(frozen=True)
class Ended:
    """How a command ended: its exit code, what it wrote, and what it complained of."""

    code: int
    written: bytes
    complaint: str

    @property
    def text(self) -> str:
        return self.written.decode()

    @property
    def lines(self) -> list[str]:
        return [line.rstrip() for line in self.text.split("\n")]

    @property
    def json(self) -> Any:
        return json.loads(self.written)


Kernelindex = Callable[..., Ended]
