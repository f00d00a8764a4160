// Every legal instantiation of the wrappers that only the "a" chips have; the products of wgmma are in wgmma.cuh.
#include "warpmill/ptx/registers.cuh"
#include "warpmill/ptx/tensor_map.cuh"

using namespace wm;

// Each needs a kernel of its own: the compiler honours one budget a path.
template <int count>
__global__ void __launch_bounds__(128, 1) registers_of(int* out) {
  if (threadIdx.x < 128) registers::increase_to<count>();
  out[threadIdx.x] = 1;
  registers::decrease_to<count>();
}

template <int count>
__device__ void instantiate_registers() {
  (void)&registers_of<count>;
  if constexpr (count < 256) instantiate_registers<count + 8>();
}
__global__ void all_registers() { instantiate_registers<24>(); }

template <int dimension, class Map>
__device__ void fields_of_dimension(Map map, u32 value) {
  tensor_map::set_box<dimension>(map, value);
  tensor_map::set_size<dimension>(map, value);
  tensor_map::set_element_stride<dimension>(map, value);
  if constexpr (dimension < 4) tensor_map::set_stride<dimension>(map, u64(value));
}

template <class Map>
__device__ void fields(Map map, u32 value) {
  using namespace tensor_map;
  set_global_address(map, u64(value));
  set_rank(map, value);
  fields_of_dimension<0>(map, value);
  fields_of_dimension<1>(map, value);
  fields_of_dimension<2>(map, value);
  fields_of_dimension<3>(map, value);
  fields_of_dimension<4>(map, value);
  set_element_type<ElementType::u8>(map);
  set_element_type<ElementType::u16>(map);
  set_element_type<ElementType::u32>(map);
  set_element_type<ElementType::i32>(map);
  set_element_type<ElementType::u64>(map);
  set_element_type<ElementType::i64>(map);
  set_element_type<ElementType::f16>(map);
  set_element_type<ElementType::f32>(map);
  set_element_type<ElementType::f32_ftz>(map);
  set_element_type<ElementType::f64>(map);
  set_element_type<ElementType::bf16>(map);
  set_element_type<ElementType::tf32>(map);
  set_element_type<ElementType::tf32_ftz>(map);
  set_interleave<Interleave::none>(map);
  set_interleave<Interleave::bytes16>(map);
  set_interleave<Interleave::bytes32>(map);
  set_swizzle<Swizzle::none>(map);
  set_swizzle<Swizzle::bytes32>(map);
  set_swizzle<Swizzle::bytes64>(map);
  set_swizzle<Swizzle::bytes128>(map);
  set_fill<Fill::zero>(map);
  set_fill<Fill::nan>(map);
}

__global__ void tensor_maps(TensorMap* global, u32 value) {
  __shared__ TensorMap map;
  fields(global, value);
  fields(SharedAddress(&map), value);
  tensor_map::publish<Scope::block>(global, &map);
  tensor_map::publish<Scope::cluster>(global, &map);
  tensor_map::publish<Scope::device>(global, &map);
  tensor_map::publish<Scope::system>(global, &map);
}
