// Everything a caller needs.
#pragma once

#include "warpmill/architecture.hpp"
#include "warpmill/attention.hpp"
#include "warpmill/block_scaled.hpp"
#include "warpmill/buffer.hpp"
#include "warpmill/device.hpp"
#include "warpmill/dtype.hpp"
#include "warpmill/error.hpp"
#include "warpmill/gemm.hpp"
#include "warpmill/jit.hpp"
#include "warpmill/log.hpp"
#include "warpmill/module.hpp"
#include "warpmill/tensor_map.hpp"
#include "warpmill/trace.hpp"
#include "warpmill/virtual.hpp"
