"""FlashAttention-4, forward: causal, with grouped heads, a length that no tile divides."""

import torch
from flash_attn.cute.interface import flash_attn_func

torch.manual_seed(1)
q, k, v = (torch.randn(1, 300, heads, 128).to(torch.bfloat16) for heads in (4, 2, 2))
out = flash_attn_func(q.cuda(), k.cuda(), v.cuda(), causal=True)
out = out[0] if isinstance(out, tuple) else out
q, k, v = (x.float().transpose(1, 2) for x in (q, k, v))
want = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)
torch.testing.assert_close(out.cpu().float(), want, rtol=1e-2, atol=1e-2)
