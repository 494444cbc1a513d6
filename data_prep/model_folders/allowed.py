"""What is allowed in a folder of a model. What is not here is refused, or not shown to the library.

`tests/data_prep/model_folders/test_library_calls.py` lists where the pinned libraries run code or open files.
"""

ENCODERS = (
    "albert", "bert", "big_bird", "camembert", "convbert", "data2vec-text", "deberta", "deberta-v2",
    "distilbert", "electra", "ernie", "fnet", "funnel", "longformer", "megatron-bert", "mobilebert",
    "modernbert", "mpnet", "rembert", "roberta", "roberta-prelayernorm", "squeezebert", "xlm-roberta",
    "xlm-roberta-xl", "xlnet", "xmod",
)  # fmt: skip
ENCODER_DECODERS = (
    "bart", "longt5", "m2m_100", "marian", "mbart", "mt5", "nllb-moe", "pegasus", "t5", "umt5",
)  # fmt: skip
CAUSAL_MODELS = (
    "bloom", "cohere", "cohere2", "falcon", "gemma", "gemma2", "gemma3_text", "glm", "glm4", "gpt2",
    "gpt_bigcode", "gpt_neo", "gpt_neox", "gptj", "granite", "helium", "llama", "mistral", "mixtral",
    "nemotron", "olmo", "olmo2", "olmo3", "olmoe", "opt", "phi", "phi3", "qwen2", "qwen2_moe", "qwen3",
    "qwen3_moe", "smollm3", "stablelm", "starcoder2", "xglm",
)  # fmt: skip
MODEL_TYPES = frozenset((*ENCODERS, *ENCODER_DECODERS, *CAUSAL_MODELS))
TOKENIZERS = (  # their classes, without "Tokenizer" or "TokenizerFast" at the end
    "Albert", "Bart", "Bert", "BigBird", "Bloom", "Camembert", "CodeGen", "CodeLlama", "Cohere",
    "ConvBert", "Deberta", "DebertaV2", "DistilBert", "Electra", "FNet", "Funnel", "GPT2", "GPTNeoX",
    "Gemma", "Llama", "Longformer", "M2M100", "MBart", "MBart50", "MPNet", "MT5", "Marian",
    "MobileBert", "Nllb", "Pegasus", "PreTrained", "Qwen2", "RemBert", "Roberta", "SqueezeBert", "T5",
    "XGLM", "XLMRoberta", "XLNet",
)  # fmt: skip
VOCABULARIES = (
    "tokenizer.json", "vocab.json", "merges.txt", "vocab.txt", "sentencepiece.bpe.model", "spiece.model",
    "sentencepiece.model", "spm.model", "tokenizer.model", "source.spm", "target.spm", "target_vocab.json",
)  # fmt: skip
MODULES = ("Transformer", "WeightedLayerPooling", "Pooling", "Dense", "LayerNorm", "Dropout", "Normalize")
ACTIVATIONS = frozenset(
    ["torch.nn.modules.linear.Identity"]
    + [
        f"torch.nn.modules.activation.{name}"
        for name in ("ELU", "GELU", "Hardtanh", "LeakyReLU", "Mish", "ReLU", "ReLU6", "SELU", "Sigmoid",
                     "SiLU", "Softplus", "Softsign", "Tanh", "Tanhshrink")
    ]
)  # fmt: skip
CODE_FIELDS = (  # that name code, other models, or ways to load them
    "auto_map",
    "custom_generate",
    "trust_remote_code",
    "configuration_files",
    "fast_tokenizer_files",
    "quantization_config",
    "compression_config",
    "backbone",
    "backbone_config",
    "backbone_kwargs",
    "use_timm_backbone",
    "megatron_config",
)
GENERATION_TOKENS = (  # settings of generation that name tokens: an id, or lists of ids
    "bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "forced_bos_token_id",
    "forced_eos_token_id", "bad_words_ids", "suppress_tokens", "begin_suppress_tokens",
)  # fmt: skip
TOKENIZER_FILES = (  # arguments of tokenizers that name files
    "vocab", "vocab_file", "merges_file", "spm_file", "source_spm", "target_spm", "target_vocab_file",
    "tokenizer_file", "tokenizer_config_file", "added_tokens_file", "full_tokenizer_file", "gguf_file",
    "init_inputs", "tokenizer_object", "__slow_tokenizer",
)  # fmt: skip
ATTENTIONS = ("eager", "sdpa")  # others are packages, or downloads
PICKLED = ("bin", "pt", "pth", "ckpt", "pkl", "h5", "msgpack", "ot")  # endings of weights
