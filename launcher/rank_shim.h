#pragma once
// The process that mpirun starts for each rank of an MPI program: `hcclrun --mpi-rank-shim --gdb R
// [-x NAME=VALUE]... -- program arguments`, R = -1 for none. It learns its rank from the variables
// of its MPI, fetches the rank's streams from the launcher, runs the program in a process group of
// its own and reports its end. It leaves, always with code 0, when the launcher says so: a failing
// code would make mpirun end the other ranks before they could return their errors.

namespace hcclrun {

int RunRankShim(int argc, char** argv);

}  // namespace hcclrun
