// The families' decoders, for the table. Each decodes one opcode (or the forms of it that a family has).
#pragma once

namespace wm::vgpu {

class FunctionDecoder;

namespace isa {

// integer.cpp
void integer_add(FunctionDecoder&);
void integer_subtract(FunctionDecoder&);
void integer_multiply(FunctionDecoder&);
void integer_multiply_add(FunctionDecoder&);
void integer_divide(FunctionDecoder&);
void integer_absolute(FunctionDecoder&);
void integer_negate(FunctionDecoder&);
void integer_minimum(FunctionDecoder&);
void integer_maximum(FunctionDecoder&);
void remainder(FunctionDecoder&);
void multiply24(FunctionDecoder&);
void multiply_add24(FunctionDecoder&);
void sum_of_absolute_difference(FunctionDecoder&);
void dot4(FunctionDecoder&);
void dot2(FunctionDecoder&);
// carry.cpp
void add_with_carry(FunctionDecoder&);
void subtract_with_carry(FunctionDecoder&);
void multiply_add_with_carry(FunctionDecoder&);
// bits.cpp
void bitwise_and(FunctionDecoder&);
void bitwise_or(FunctionDecoder&);
void bitwise_xor(FunctionDecoder&);
void bitwise_not(FunctionDecoder&);
void logical_not(FunctionDecoder&);
void lop3(FunctionDecoder&);
void shift_left(FunctionDecoder&);
void shift_right(FunctionDecoder&);
void funnel_shift(FunctionDecoder&);
void permute(FunctionDecoder&);
void extract_bits(FunctionDecoder&);
void insert_bits(FunctionDecoder&);
void find_highest(FunctionDecoder&);
void find_nth_set(FunctionDecoder&);
void reverse_bits(FunctionDecoder&);
void count_leading_zeros(FunctionDecoder&);
void count_bits(FunctionDecoder&);
void bit_mask(FunctionDecoder&);
void sign_extend(FunctionDecoder&);
// arithmetic.cpp: opcodes that integers and floats share
void add(FunctionDecoder&);
void subtract(FunctionDecoder&);
void multiply(FunctionDecoder&);
void multiply_add(FunctionDecoder&);
void divide(FunctionDecoder&);
void absolute(FunctionDecoder&);
void negate(FunctionDecoder&);
void minimum(FunctionDecoder&);
void maximum(FunctionDecoder&);
// floating.cpp
void float_add(FunctionDecoder&);
void float_subtract(FunctionDecoder&);
void float_multiply(FunctionDecoder&);
void fused_multiply_add(FunctionDecoder&);
void float_divide(FunctionDecoder&);
void float_absolute(FunctionDecoder&);
void float_negate(FunctionDecoder&);
void float_minimum(FunctionDecoder&);
void float_maximum(FunctionDecoder&);
void copy_sign(FunctionDecoder&);
// float_pairs.cpp: f32x2
void float_pair_add(FunctionDecoder&);
void float_pair_subtract(FunctionDecoder&);
void float_pair_multiply(FunctionDecoder&);
void float_pair_fma(FunctionDecoder&);
// approximate.cpp
void reciprocal(FunctionDecoder&);
void square_root(FunctionDecoder&);
void reciprocal_square_root(FunctionDecoder&);
void sine(FunctionDecoder&);
void cosine(FunctionDecoder&);
void logarithm2(FunctionDecoder&);
void exponential2(FunctionDecoder&);
void hyperbolic_tangent(FunctionDecoder&);
void divide_approximately(FunctionDecoder&);  // div.approx, div.full
// compare.cpp
void set_predicate(FunctionDecoder&);
void set(FunctionDecoder&);
void select(FunctionDecoder&);
void select_by_sign(FunctionDecoder&);
void test_property(FunctionDecoder&);
// convert.cpp
void convert(FunctionDecoder&);
// move.cpp
void move(FunctionDecoder&);
void convert_address(FunctionDecoder&);
void is_space(FunctionDecoder&);
void map_address(FunctionDecoder&);
void block_rank_of(FunctionDecoder&);
// control.cpp
void branch(FunctionDecoder&);
void branch_indexed(FunctionDecoder&);
void exit(FunctionDecoder&);
void trap(FunctionDecoder&);
void nanosleep(FunctionDecoder&);
void no_operation(FunctionDecoder&);
void set_register_budget(FunctionDecoder&);
void grid_dependency(FunctionDecoder&);
void monitor_event(FunctionDecoder&);
// call.cpp
void call(FunctionDecoder&);
void ret(FunctionDecoder&);
// load_store.cpp
void load(FunctionDecoder&);
void store(FunctionDecoder&);
void store_zeros(FunctionDecoder&);  // st.bulk
void prefetch(FunctionDecoder&);
void create_policy(FunctionDecoder&);
void cache_hint(FunctionDecoder&);
void texture(FunctionDecoder&);
// atomic.cpp
void atomic(FunctionDecoder&);
void reduction(FunctionDecoder&);
// exchange.cpp: lanes of one warp
void shuffle(FunctionDecoder&);
void vote(FunctionDecoder&);
void match(FunctionDecoder&);
void reduce_lanes(FunctionDecoder&);
void elect(FunctionDecoder&);
void active_mask(FunctionDecoder&);
// barrier.cpp
void barrier(FunctionDecoder&);
// mbarrier.cpp
void mbarrier_family(FunctionDecoder&);
// fence.cpp
void fence(FunctionDecoder&);
void membar(FunctionDecoder&);
// copy.cpp, bulk_copy.cpp, tensor_copy.cpp
void copy_family(FunctionDecoder&);
// packed_integers.cpp
void packed_integers(FunctionDecoder&);
// matrix.cpp, wgmma.cpp, wmma.cpp
void matrix_multiply(FunctionDecoder&);
void warp_matrix(FunctionDecoder&);
void load_matrix(FunctionDecoder&);
void store_matrix(FunctionDecoder&);
void move_matrix(FunctionDecoder&);
void warpgroup_multiply(FunctionDecoder&);
void await_products(FunctionDecoder&);  // what the assembler puts before an instruction (products_in_flight.hpp)
// cluster_launch.cpp
void cluster_launch_control(FunctionDecoder&);
// tcgen05.cpp
void tensor_core_family(FunctionDecoder&);
// tensor_map.cpp
void tensor_map_family(FunctionDecoder&);
// bulk_copy.cpp: st.async and red.async
void store_async(FunctionDecoder&);
void reduction_async(FunctionDecoder&);

}  // namespace isa
}  // namespace wm::vgpu
