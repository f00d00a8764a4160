// Whole files: read into memory, written all or nothing.
#pragma once

#include <cstddef>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

namespace wm::cases {

std::string read_text(const std::filesystem::path& file);
std::vector<std::byte> read_bytes(const std::filesystem::path& file);

// The file appears complete under its name or, where anything fails (a full disk), stays what it was. Parts are written
// one after the other.
void write_file(const std::filesystem::path& file, std::span<const std::span<const std::byte>> parts);
void write_file(const std::filesystem::path& file, std::span<const std::byte> contents);
// Throws where the file could not be made now: for those who work long before they write. Nothing is left or changed.
void check_writable(const std::filesystem::path& file);

}  // namespace wm::cases
