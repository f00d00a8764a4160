// Whole files: read into memory, written all or nothing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

#include "common/files.hpp"

namespace wm::cases {

using wm::read_bytes;
using wm::read_text;

// The file appears complete under its name or, where anything fails (a full disk, a signal that ends the program),
// stays what it was, and nothing else is left. Parts are written one after the other. A symbolic link stays one: the
// file that it names is written, whether it is there or not. Devices, and pipes that somebody reads, are written in
// place.
void write_file(const std::filesystem::path& file, std::span<const std::span<const std::byte>> parts);
void write_file(const std::filesystem::path& file, std::span<const std::byte> contents);
// Throws where the file could not be made now: for those who work long before they write. Nothing is left or changed.
void check_writable(const std::filesystem::path& file);

// Where what is written to `file` ends up, links followed; the same for two names of one file. Throws io for links that
// go round.
std::filesystem::path written_file(const std::filesystem::path& file);
// Whether each writer replaces what others have written: not so of devices and pipes.
bool is_replaced(const std::filesystem::path& file);

}  // namespace wm::cases
