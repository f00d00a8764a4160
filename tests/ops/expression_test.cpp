// What passes for one expression of the caller's own.
#include "ops/expression.hpp"

#include <gtest/gtest.h>

namespace wm::ops {

TEST(Expression, PassesWhatIsOne) {
  for (const char* text : {"x", "x * sigmoid(1.702f * x)", "x < 0 ? 0 : x", "[&] { float y = x; return y; }()",
                           "f32{x}", "x + ';'", "x + \";}\"[0]", "(x, 1.f)", "x + 1'000.f", " \n x "})
    EXPECT_EQ(expression_problem(text), "") << text;
}

TEST(Expression, RefusesWhatWouldEndTheFunctionOrBeginAnother) {
  const auto expect = [](const char* text, const char* why) { EXPECT_EQ(expression_problem(text), why) << text; };
  expect("x; } int z() { return 1", "it ends with a semicolon or has several statements");
  expect("x;", "it ends with a semicolon or has several statements");
  expect("x); } int z() { return (1", "a bracket closes that was not opened");
  expect("(x", "a bracket is not closed");
  expect("(x]", "a bracket closes that was not opened");
  expect("x // more", "it has a comment");
  expect("x /* more", "it has a comment");
  expect("x\n#define y", "it has a preprocessor directive");
  expect("x + \"", "a literal does not end");
  expect("", "it is empty");
  expect(" \t\n", "it is empty");
}

TEST(Expression, HasItsSideEffectsNamed) {
  const auto expect = [](const char* text, const char* what) { EXPECT_EQ(side_effect(text), what) << text; };
  for (const char* text : {"x <= 3 && y == 2 || z != 1 || x >= y", "a - -b", "min(a, b) * c", "x > 2 ? '=' : 0",
                           "clocks[k] < threadIdx_of[q]"})
    EXPECT_EQ(side_effect(text), "") << text;
  expect("x = 3", "column 3: it assigns");
  expect("k < blockIdx.x", "column 5: 'blockIdx' depends on who asks, or when");
  expect("__ballot_sync(~0u, k > 3)", "column 1: '__ballot_sync' depends on who asks, or when");
  expect("k < 5 + clock64() % 2", "column 9: 'clock64' depends on who asks, or when");
  expect("x += 3", "column 4: it assigns");
  expect("a + b--", "column 6: '--' changes what it is applied to");
  expect("printf(\"x\")", "column 1: 'printf' does more than compute a value");
  expect("const_cast<float&>(x)", "column 1: 'const_cast' casts what is only to be read");
  expect("[] { return 1; }()", "column 4: it has a block of statements");
  expect("wm::barrier(1)", "column 3: '::' leads to what is not the caller's");
}

TEST(Expression, KeepsItsColumnsInTheCompilersLines) {
  EXPECT_EQ(by_columns("x + a[k] * b [q]", "score"),
            "#line 1 \"score\"\nx + \n#line 5 \"score\"\na[k] * \n#line 12 \"score\"\nb [q]\n");
  EXPECT_EQ(error_by_column("other(3): error: no\nscore(5): error: identifier \"y\" is undefined\n  a[y] * \n    ^\n",
                            "score"),
            "column 7: identifier \"y\" is undefined");
  EXPECT_EQ(error_by_column("attention.cu(5): error: no\n", "score"), "");
}

}  // namespace wm::ops
