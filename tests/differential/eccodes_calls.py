# SPDX-License-Identifier: MIT
"""The functions of ecCodes that the makers of GRIB use, with the names of its Python module. That module would bring packages for
development, which do not go together with those that ndlfs is built with; this needs the library alone."""
import ctypes

import numpy as np

try:
    _library = ctypes.CDLL("libeccodes.so.0")
except OSError as error:
    raise ImportError("libeccodes0 is not installed") from error
_c = ctypes.CDLL(None)
_c.fopen.restype = ctypes.c_void_p
_c.fclose.argtypes = [ctypes.c_void_p]
_LONG, _DOUBLE = 1, 2  # CODES_TYPE_LONG, CODES_TYPE_DOUBLE; all else is read as text
for _name in ("codes_grib_handle_new_from_samples", "codes_grib_handle_new_from_file"):
    getattr(_library, _name).restype = ctypes.c_void_p
_library.codes_get_error_message.restype = ctypes.c_char_p
_library.codes_grib_multi_support_on(None)  # several fields in a message


class CodesInternalError(Exception):
    pass


def _check(status):
    if status != 0:
        raise CodesInternalError(_library.codes_get_error_message(status).decode())


def _call(name, message, key, *arguments):
    _check(getattr(_library, name)(ctypes.c_void_p(message), key.encode(), *arguments))


def _handle(handle, what):
    if not handle:
        raise CodesInternalError(what)
    return handle


def codes_grib_new_from_samples(name):
    return _handle(_library.codes_grib_handle_new_from_samples(None, name.encode()), f"there is no sample {name}")


def codes_messages(path):
    """The messages of a file, each until the next one is asked for."""
    file = _handle(_c.fopen(str(path).encode(), b"rb"), f"{path} cannot be opened")
    try:
        status = ctypes.c_int()
        while message := _library.codes_grib_handle_new_from_file(None, ctypes.c_void_p(file), ctypes.byref(status)):
            yield message
            codes_release(message)
        _check(status.value)
    finally:
        _c.fclose(file)


def codes_release(message):
    _check(_library.codes_handle_delete(ctypes.c_void_p(message)))


def codes_set(message, key, value):
    if isinstance(value, str):
        text = value.encode()
        _call("codes_set_string", message, key, text, ctypes.byref(ctypes.c_size_t(len(text))))
    elif isinstance(value, (float, np.floating)):
        _call("codes_set_double", message, key, ctypes.c_double(value))
    else:
        _call("codes_set_long", message, key, ctypes.c_long(value))


def codes_get(message, key):
    kind = ctypes.c_int()
    _call("codes_get_native_type", message, key, ctypes.byref(kind))
    if kind.value == _LONG:
        number = ctypes.c_long()
        _call("codes_get_long", message, key, ctypes.byref(number))
        return number.value
    if kind.value == _DOUBLE:
        number = ctypes.c_double()
        _call("codes_get_double", message, key, ctypes.byref(number))
        return number.value
    size = ctypes.c_size_t(1024)
    text = ctypes.create_string_buffer(size.value)
    _call("codes_get_string", message, key, text, ctypes.byref(size))
    return text.value.decode()


def codes_is_defined(message, key):
    return bool(_library.codes_is_defined(ctypes.c_void_p(message), key.encode()))


def codes_set_array(message, key, numbers):
    array = np.asarray(numbers, np.int64)
    _call("codes_set_long_array", message, key, array.ctypes, ctypes.c_size_t(array.size))


def codes_set_values(message, numbers):
    array = np.ascontiguousarray(numbers, np.float64)
    _call("codes_set_double_array", message, "values", array.ctypes, ctypes.c_size_t(array.size))


def codes_get_array(message, key):
    size = ctypes.c_size_t()
    _call("codes_get_size", message, key, ctypes.byref(size))
    array = np.empty(size.value, np.float64)
    _call("codes_get_double_array", message, key, array.ctypes, ctypes.byref(size))
    return array


def codes_get_values(message):
    return codes_get_array(message, "values")


def codes_get_gaussian_latitudes(half):
    latitudes = np.empty(2 * half, np.float64)
    _check(_library.codes_get_gaussian_latitudes(ctypes.c_long(half), latitudes.ctypes))
    return latitudes


def codes_get_message(message):
    start, size = ctypes.c_void_p(), ctypes.c_size_t()
    _check(_library.codes_get_message(ctypes.c_void_p(message), ctypes.byref(start), ctypes.byref(size)))
    return ctypes.string_at(start.value, size.value)
