/* AscendCL in one include: runtime, and the placeholders for models and operators. */
#pragma once

#include "acl_mdl.h"
#include "acl_op.h"
#include "acl_rt.h"
