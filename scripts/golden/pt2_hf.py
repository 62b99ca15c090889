"""Networks of transformers for the survey of scripts/golden/pt2.py: small ones of random
weights, one tensor in and the logits out."""
import torch
import transformers as t

VIT = dict(num_labels=10, num_hidden_layers=4, hidden_size=192, num_attention_heads=3)
CONVNEXT = dict(depths=[2, 2, 2, 2], hidden_sizes=[32, 64, 128, 256],
                out_features=["stage1", "stage2", "stage3", "stage4"])
SWIN = dict(depths=[2, 2, 2, 2], embed_dim=32, num_heads=[1, 2, 4, 8],
            out_features=["stage1", "stage2", "stage3", "stage4"])
DETR = dict(decoder_layers=2, encoder_layers=2, d_model=64, decoder_attention_heads=4,
            encoder_attention_heads=4)
DPT = dict(num_labels=10, num_hidden_layers=12, hidden_size=192, intermediate_size=768,
           num_attention_heads=3, neck_hidden_sizes=[48, 96, 192, 192], fusion_hidden_size=64,
           image_size=224, is_hybrid=False)
MASK2 = dict(hidden_dim=64, feature_size=64, mask_feature_size=64, encoder_layers=2,
             decoder_layers=3, num_attention_heads=4, encoder_feedforward_dim=128,
             dim_feedforward=128)

NETS = {
    "beit": lambda: t.BeitForImageClassification(t.BeitConfig(intermediate_size=384, **VIT)),
    "cvt": lambda: t.CvtForImageClassification(t.CvtConfig(num_labels=10, depth=[1, 2, 4])),
    "data2vec_vision": lambda: t.Data2VecVisionForImageClassification(
        t.Data2VecVisionConfig(intermediate_size=384, **VIT)),
    "dinov2": lambda: t.Dinov2ForImageClassification(t.Dinov2Config(**VIT)),
    "dpt": lambda: t.DPTForSemanticSegmentation(t.DPTConfig(**DPT)),
    "glpn": lambda: t.GLPNForDepthEstimation(t.GLPNConfig()),
    "levit": lambda: t.LevitForImageClassification(t.LevitConfig(num_labels=10)),
    "mask2former": lambda: t.Mask2FormerForUniversalSegmentation(
        t.Mask2FormerConfig(backbone_config=t.SwinConfig(**SWIN), **MASK2)),
    "maskformer": lambda: t.MaskFormerForInstanceSegmentation(t.MaskFormerConfig(
        backbone_config=t.SwinConfig(**SWIN), decoder_config=t.DetrConfig(**DETR))),
    "mobilenet_v2": lambda: t.MobileNetV2ForSemanticSegmentation(
        t.MobileNetV2Config(num_labels=10)),
    "mobilevit": lambda: t.MobileViTForSemanticSegmentation(t.MobileViTConfig(num_labels=10)),
    "poolformer": lambda: t.PoolFormerForImageClassification(t.PoolFormerConfig(num_labels=10)),
    "segformer": lambda: t.SegformerForSemanticSegmentation(t.SegformerConfig(num_labels=10)),
    "upernet": lambda: t.UperNetForSemanticSegmentation(t.UperNetConfig(
        backbone_config=t.ConvNextConfig(**CONVNEXT), hidden_size=64, num_labels=10,
        use_auxiliary_head=False)),
}


class Logits(torch.nn.Module):
    """A network with its logits as the only output."""

    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        out = self.net(x)
        for name in ("logits", "predicted_depth"):
            if name in out:
                return out[name]
        return out.class_queries_logits, out.masks_queries_logits


def build(name):
    return Logits(NETS[name]())
