"""Scripts that a model proposes for a kernel, and what becomes of them."""

from tracescript.errors import ModelError
from tracescript.proposals.asking import TARGET, Encoder, ask, masker_of, sampled_part
from tracescript.proposals.folder import model_folder
from tracescript.proposals.proposer import Proposal, Proposer
from tracescript.proposals.ranking import Attempt, best
from tracescript.proposals.trial import Trial, Verdict
from tracescript.proposals.trials import Trials

__all__ = [
    "TARGET",
    "Attempt",
    "Encoder",
    "ModelError",
    "Proposal",
    "Proposer",
    "Trial",
    "Trials",
    "Verdict",
    "ask",
    "best",
    "masker_of",
    "model_folder",
    "sampled_part",
]
