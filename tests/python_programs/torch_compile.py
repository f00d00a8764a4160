"""torch.compile: what PyTorch makes Triton kernels of, here a layer norm, a loss, and attention with a score of our own."""

import torch
from torch.nn.attention.flex_attention import flex_attention


def norm(x, w, b):
    return 2 * torch.nn.functional.gelu(torch.nn.functional.layer_norm(x, (256,), w, b))


def loss(x, target):
    return torch.nn.functional.cross_entropy(x, target, reduction="none")


torch.manual_seed(1)
x, w, b = torch.randn(64, 256), torch.randn(256), torch.randn(256)
torch.testing.assert_close(torch.compile(norm)(x.cuda(), w.cuda(), b.cuda()).cpu(), norm(x, w, b))
target = torch.randint(0, 256, (64,))
torch.testing.assert_close(torch.compile(loss)(x.cuda(), target.cuda()).cpu(), loss(x, target))


def causal(score, batch, head, q, k):
    return torch.where(q >= k, score, -float("inf"))


q, k, v = (torch.randn(1, 2, 256, 64).to(torch.bfloat16) for _ in range(3))
out = torch.compile(flex_attention)(q.cuda(), k.cuda(), v.cuda(), score_mod=causal)
want = torch.nn.functional.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=True)
torch.testing.assert_close(out.cpu().float(), want, rtol=1e-2, atol=1e-2)
