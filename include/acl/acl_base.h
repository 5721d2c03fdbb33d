/* Base types, constants and error codes of AscendCL. */
#pragma once

#include "acl_base_rt.h"
