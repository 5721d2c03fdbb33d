/*
 * How the C API spells its declarations: visibility, and integer constants that are typed variables
 * in C++ and constant expressions in C, so that array bounds and case labels work in both
 * languages.
 */
#pragma once

#define ACL_FUNC_VISIBILITY __attribute__((visibility("default")))

#ifdef __cplusplus
#define ACL_INT_CONSTANT(name, value) static const int name = (value)
#define ACL_UINT_CONSTANT(name, value) static const unsigned int name = (value)
#else
#define ACL_INT_CONSTANT(name, value) enum { name = (value) }
#define ACL_UINT_CONSTANT(name, value) enum { name = (value) }
#endif
