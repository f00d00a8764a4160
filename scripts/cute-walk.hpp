// Places that CuTe's layouts give, as walks: what cute-vectors.cpp and cute-warp-vectors.cpp print.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

struct Cell {
  long lane = 0, column = 0;
  bool operator==(const Cell& other) const { return lane == other.lane && column == other.column; }
  Cell operator-(const Cell& other) const { return {lane - other.lane, column - other.column}; }
};

inline void verify(bool holds, const std::string& what) {
  if (holds) return;
  std::fprintf(stderr, "%s is no such walk\n", what.c_str());
  std::exit(1);
}

using Places = std::function<Cell(long)>;

// The walk of places 0 to count - 1, from the first one on.
inline std::string walk(const std::string& what, long count, const Places& at) {
  struct Digit {
    long extent;
    Cell step;
  };
  std::vector<Digit> digits;
  const auto place = [&](long index) {
    Cell sum = at(0);
    for (const Digit& d : digits) {
      sum.lane += index % d.extent * d.step.lane;
      sum.column += index % d.extent * d.step.column;
      index /= d.extent;
    }
    return sum;
  };
  std::string text;
  for (long done = 1; done < count;) {
    Digit d{2, at(done) - at(0)};
    while (d.extent * done < count &&
           at(d.extent * done) == Cell{at(0).lane + d.extent * d.step.lane, at(0).column + d.extent * d.step.column})
      ++d.extent;
    while (count % (done * d.extent) != 0) --d.extent;
    digits.push_back(d);
    done *= d.extent;
    text += (text.empty() ? "" : " ") + std::to_string(d.extent) + ":" + std::to_string(d.step.lane) + "," +
            std::to_string(d.step.column);
  }
  for (long i = 0; i < count; ++i) verify(place(i) == at(i), what);
  return text.empty() ? "1:0,0" : text;
}
