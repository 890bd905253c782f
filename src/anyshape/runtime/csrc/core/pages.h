// Pages straight from the system. Address space is taken first, memory only where it is committed.
//
// Reserved pages cannot be touched and count nowhere but in the address space, so a range may be
// far larger than what will ever be used of it. Committed pages take memory once touched.
//
// Ownership: plain functions on ranges; whoever reserved a range releases it.
// Thread-safety: any thread, on ranges that no other thread changes at the same time.
// Failure: std::bad_alloc, with nothing changed; giving back never fails.
#pragma once

#include <cstddef>

namespace anyshape {

inline constexpr std::size_t huge_page = std::size_t{2} << 20;

std::size_t whole_pages(std::size_t bytes) noexcept;

// A range that starts on a boundary of huge pages. `bytes` are whole pages.
std::byte* reserve_pages(std::size_t bytes);
void release_pages(std::byte* data, std::size_t bytes) noexcept;

// Makes the first `bytes` of a range usable, of which the first `already` are.
void commit_pages(std::byte* data, std::size_t already, std::size_t bytes);

// Takes the memory of a part away; the range stays reserved. False if the system refused.
bool decommit_pages(std::byte* data, std::size_t bytes) noexcept;

// Puts memory behind committed pages now, so that nobody waits for it later. Content may be lost.
void touch_pages(std::byte* data, std::size_t bytes);

// Has all pages of a range in memory, as far as somebody who reads it can.
void read_pages(const std::byte* data, std::size_t bytes) noexcept;

}  // namespace anyshape
