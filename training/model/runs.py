"""What all trainings do at their ends: go on from a checkpoint, stop in time, write whole files."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import psutil
import torch
from transformers import Trainer, TrainerCallback
from transformers.trainer_utils import get_last_checkpoint

from training.data import files

__all__ = ["callbacks", "run", "write_log"]


def callbacks(seconds: float | None) -> list[TrainerCallback]:
    """What takes part in a training: it stops in time, and leaves out steps that would break it.

    Args:
        seconds: since the program began, its imports and the reading of examples included; None is
            no limit.
    """
    if seconds is None:
        return [_OnlyNumbers()]
    ran = time.time() - psutil.Process().create_time()
    return [_OnlyNumbers(), _Deadline(time.monotonic() + seconds - ran)]


def run(trainer: Trainer, out: Path) -> list[dict[str, Any]]:
    """Train, from the last checkpoint if there is one, and save the model.

    Args:
        trainer: saves its checkpoints in `out`.
        out: the folder of the model.

    Returns:
        What the trainer has logged, in its order, from the beginning of the training.
    """
    checkpoint = get_last_checkpoint(str(out)) if out.is_dir() else None
    trainer.train(resume_from_checkpoint=checkpoint)
    trainer.save_model()
    return trainer.state.log_history


def write_log(out: Path, **log: Any) -> None:
    """Write `log.json` beside a model."""
    files.write(out / "log.json", json.dumps(log, indent=1).encode() + b"\n")


class _OnlyNumbers(TrainerCallback):
    """Leave out a step whose gradient is not finite, which would make no number of every weight.

    The log has it as a step with a `grad_norm` that is none. In bfloat16 there are some even where
    the loss is finite.
    """

    def on_pre_optimizer_step(
        self, _args: Any, _state: Any, _control: Any, *, model: torch.nn.Module, **_: Any
    ) -> None:
        """Look at the gradients, already clipped by their norm: one that is none makes all so."""
        found = [each.grad for each in model.parameters() if each.grad is not None]
        if not all(bool(gradient.isfinite().all()) for gradient in found):
            # The optimizer passes over what has no gradient.
            model.zero_grad(set_to_none=True)


class _Deadline(TrainerCallback):
    """Stop in time, with a checkpoint to go on from."""

    def __init__(self, end: float) -> None:
        self._end = end

    def on_step_end(self, _args: Any, _state: Any, control: Any, **_: Any) -> None:
        """Look at the clock."""
        if time.monotonic() > self._end:
            control.should_save = True
            control.should_training_stop = True
