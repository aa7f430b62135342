"""A small language model with a tokenizer of bytes, and the texts that transformers generates.

    text_command.py FOLDER    writes FOLDER, and its texts to FOLDER.txt
"""
from __future__ import annotations

import sys

import torch
import transformers
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

TOKENS = 12
PROMPTS = ("a longer prompt of a text", "hi")
folder = sys.argv[1]
torch.manual_seed(3)
config = transformers.LlamaConfig(
    vocab_size=256, hidden_size=32, intermediate_size=48, num_hidden_layers=1, num_attention_heads=4,
    num_key_value_heads=2, max_position_embeddings=64, initializer_range=0.5, bos_token_id=None,
    eos_token_id=None, pad_token_id=0)
module = transformers.LlamaForCausalLM(config).eval()
letters = sorted(pre_tokenizers.ByteLevel.alphabet())
bytes_of = Tokenizer(models.BPE(vocab={c: i for i, c in enumerate(letters)}, merges=[]))
bytes_of.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
bytes_of.decoder = decoders.ByteLevel()
tokenizer = transformers.PreTrainedTokenizerFast(tokenizer_object=bytes_of)


def ids_after(prompt: str) -> list[int]:
    ids = torch.tensor([tokenizer(prompt)["input_ids"]])
    with torch.no_grad():
        return module.generate(ids, max_new_tokens=TOKENS, do_sample=False)[0, ids.shape[1]:].tolist()


# The first text ends before its time.
module.generation_config.eos_token_id = ids_after(PROMPTS[0])[5]
module.save_pretrained(folder)
tokenizer.save_pretrained(folder)
texts = [tokenizer.decode(ids_after(prompt), skip_special_tokens=True) for prompt in PROMPTS]
with open(f"{folder}.txt", "w", encoding="utf-8") as file:
    file.write(texts[0] + "\n")
with open(f"{folder}-batch.txt", "w", encoding="utf-8") as file:
    for number, (prompt, text) in enumerate(zip(PROMPTS, texts), 1):
        file.write(f"{number}: {prompt}\n{text}\n")
prompt = tokenizer(PROMPTS[0])["input_ids"]
with open(f"{folder}-ids.sh", "w", encoding="utf-8") as file:
    file.write(f"PROMPT={','.join(map(str, prompt))}\n")
with open(f"{folder}-ids.txt", "w", encoding="utf-8") as file:
    file.write("".join(f"{token} " for token in ids_after(PROMPTS[0])) + "\n")
