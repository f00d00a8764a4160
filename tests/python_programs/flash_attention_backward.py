"""FlashAttention-4, forward and backward."""

import torch
from flash_attn.cute.interface import flash_attn_func

torch.manual_seed(1)
given = [torch.randn(1, 300, 2, 128).to(torch.bfloat16) for _ in range(3)]
gradient = torch.randn(1, 300, 2, 128).to(torch.bfloat16)
on_device = [x.cuda().requires_grad_() for x in given]
out = flash_attn_func(*on_device, causal=True)
out = out[0] if isinstance(out, tuple) else out
got = torch.autograd.grad(out, on_device, gradient.cuda())

wide = [x.float().requires_grad_() for x in given]
want = torch.nn.functional.scaled_dot_product_attention(*(x.transpose(1, 2) for x in wide), is_causal=True).transpose(1, 2)
for ours, theirs in zip(got, torch.autograd.grad(want, wide, gradient.float())):
    torch.testing.assert_close(ours.cpu().float(), theirs, rtol=2e-2, atol=3e-2)
