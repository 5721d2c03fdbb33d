#include "allgather.c"
