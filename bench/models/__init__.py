from models.llama import Llama
from models.mixture_of_experts import MixtureOfExperts

MODELS = {"llama": Llama, "moe": MixtureOfExperts}
