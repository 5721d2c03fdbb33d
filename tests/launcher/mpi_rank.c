/* An MPI rank: says who it is, or fails as its argument says. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  int rank, size;
  const char* how = argc > 1 ? argv[1] : "";
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  printf("rank %d of %d, told %s of %s\n", rank, size, getenv("RANK"), getenv("WORLD_SIZE"));
  fflush(stdout);
  if (rank == 1 && strcmp(how, "exit") == 0) exit(3);
  if (rank == 1 && strcmp(how, "kill") == 0) raise(SIGKILL);
  if (rank == 1 && strcmp(how, "abort") == 0) MPI_Abort(MPI_COMM_WORLD, 5);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
