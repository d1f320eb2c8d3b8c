// SPDX-License-Identifier: MIT
//
// Identifiers of libhdf5 that close themselves, and its error stack as errors.
#pragma once

#include <hdf5.h>

#include <string>
#include <string_view>
#include <utility>

#include "model/error.h"
#include "model/mutex.h"

namespace ndlfs::backends::hdf5 {

// Held around every call of libhdf5, whatever the file.
extern model::Mutex library_mutex;

// An identifier of any kind. Move-only; needs library_mutex to be destroyed.
class Handle {
 public:
  Handle() = default;
  explicit Handle(hid_t id) : id_(id) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, H5I_INVALID_HID)) {}
  Handle& operator=(Handle&& other) noexcept {
    std::swap(id_, other.id_);
    return *this;
  }
  ~Handle() {
    if (id_ >= 0) H5Idec_ref(id_);
  }
  hid_t get() const { return id_; }
  // Gives the identifier to the caller, who closes it.
  hid_t Release() { return std::exchange(id_, H5I_INVALID_HID); }
  explicit operator bool() const { return id_ >= 0; }

 private:
  hid_t id_ = H5I_INVALID_HID;
};

// The error stack after a failed call as one error: `what`, the outermost reason and, in
// parentheses, the innermost. Clears the stack.
model::Failure LibraryError(std::string_view what);
// The same as LibraryError() for an identifier, or a negative status.
model::Result<Handle> Checked(hid_t id, std::string_view what);
model::Result<void> CheckStatus(herr_t status, std::string_view what);

}  // namespace ndlfs::backends::hdf5
