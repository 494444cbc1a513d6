"""The losses, except translation, by their names in `--losses`: a new one is one file and one line here."""

from fairseq_ext.losses.additive_margin import AdditiveMargin
from fairseq_ext.losses.adversarial_alignment import AdversarialAlignment
from fairseq_ext.losses.adversarial_language import AdversarialLanguage
from fairseq_ext.losses.attention_alignment import AttentionAlignment
from fairseq_ext.losses.cycle_consistency import CycleConsistency
from fairseq_ext.losses.feature_distillation import FeatureDistillation
from fairseq_ext.losses.global_ranking import GlobalRanking
from fairseq_ext.losses.interlingua_alignment import InterlinguaAlignment
from fairseq_ext.losses.length_prediction import LengthPrediction
from fairseq_ext.losses.logit_distillation import LogitDistillation
from fairseq_ext.losses.momentum_contrast import MomentumContrast
from fairseq_ext.losses.sentence_contrast import SentenceContrast
from fairseq_ext.losses.sentence_contrastive import SentenceContrastive
from fairseq_ext.losses.token_reconstruction import TokenReconstruction
from fairseq_ext.losses.translation_language_modelling import TranslationLanguageModelling
from fairseq_ext.losses.triplet_ranking import TripletRanking
from fairseq_ext.losses.unified_generation import UnifiedGeneration
from fairseq_ext.losses.weighted_loss import WeightedLoss
from fairseq_ext.losses.word_contrastive import WordContrastive

LOSSES: dict[str, type[WeightedLoss]] = {
    loss.name: loss
    for loss in (
        WordContrastive,
        SentenceContrastive,
        AttentionAlignment,
        InterlinguaAlignment,
        LengthPrediction,
        TokenReconstruction,
        UnifiedGeneration,
        SentenceContrast,
        AdditiveMargin,
        GlobalRanking,
        TripletRanking,
        FeatureDistillation,
        LogitDistillation,
        AdversarialAlignment,
        CycleConsistency,
        AdversarialLanguage,
        MomentumContrast,
        TranslationLanguageModelling,
    )
}
