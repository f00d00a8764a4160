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

}  // namespace wm::ops
