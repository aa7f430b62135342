from models.bert import Bert
from models.gpt2 import GPT2
from models.llama import Llama
from models.mixture_of_experts import MixtureOfExperts
from models.projections import GatheredHead, Groups, Interleaved, Sliced

MODELS = {"llama": Llama, "gpt2": GPT2, "bert": Bert, "moe": MixtureOfExperts,
          "sliced": Sliced, "interleaved": Interleaved, "groups": Groups,
          "gathered head": GatheredHead}
