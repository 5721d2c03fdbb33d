/* Models are not part of this library. The file exists because programs include it. */
#pragma once

#include "acl_base.h"
