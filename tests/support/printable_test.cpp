// No text of a file speaks to the terminal.
#include "case/printable.hpp"

#include <gtest/gtest.h>

using wm::cases::printable;

TEST(Printable, ShowsWhatATerminalWouldActOn) {
  EXPECT_EQ(printable("\x1b[2J\a\r\x7f\b"), R"(\x1b[2J\x07\x0d\x7f\x08)");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), R"(a\x00b)");
  EXPECT_EQ(printable("\xc2\x9b"
                      "2J"),
            R"(\u009b2J)");                                         // one character that begins a sequence
  EXPECT_EQ(printable("\xe2\x80\xae"), R"(\u202e)");                // turns the direction around
  EXPECT_EQ(printable("\x9b\xff\xc3"), R"(\x9b\xff\xc3)");          // no UTF-8
  EXPECT_EQ(printable("\xc0\x9b"), R"(\xc0\x9b)");                  // an escape in too many bytes
  EXPECT_EQ(printable("\xed\xa0\x80"), R"(\xed\xa0\x80)");          // half of a pair
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), R"(\xf4\x90\x80\x80)");  // beyond the last character
}

TEST(Printable, LeavesTextAsItIs) {
  for (const char* text : {"", "two\n\tlines", "Größe 大小 µs 😀", "C:\\path\\x1b"}) EXPECT_EQ(printable(text), text);
}
