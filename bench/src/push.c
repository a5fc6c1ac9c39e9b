/* The floor of a large event: starts the hook, pushes the bytes of a file through a pipe, waits.
   Reads how often from stdin, one number a line; answers with CPU and least wall time in µs. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static double cpu(void) {
  double sum = 0;
  int whom[2] = {RUSAGE_SELF, RUSAGE_CHILDREN};
  for (int i = 0; i < 2; i++) {
    struct rusage use;
    getrusage(whom[i], &use);
    sum += (use.ru_utime.tv_sec + use.ru_stime.tv_sec) * 1e6;
    sum += use.ru_utime.tv_usec + use.ru_stime.tv_usec;
  }
  return sum;
}

static double now(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return at.tv_sec * 1e6 + at.tv_nsec / 1e3;
}

static int push(char *hook, const char *bytes, size_t length) {
  int in[2], err[2], status;
  char sink[256], *argv[] = {hook, NULL};
  pid_t pid;
  posix_spawn_file_actions_t files;
  if (pipe2(in, O_CLOEXEC) || pipe2(err, O_CLOEXEC)) return -1;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_adddup2(&files, in[0], 0);
  posix_spawn_file_actions_adddup2(&files, err[1], 2);
  if (posix_spawn(&pid, hook, &files, NULL, argv, environ)) return -1;
  posix_spawn_file_actions_destroy(&files);
  close(in[0]);
  close(err[1]);
  for (size_t done = 0; done < length;) {
    ssize_t count = write(in[1], bytes + done, length - done);
    if (count <= 0) return -1;
    done += count;
  }
  close(in[1]);
  while (read(err[0], sink, sizeof sink) > 0) {
  }
  close(err[0]);
  if (waitpid(pid, &status, 0) != pid) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

int main(int argc, char **argv) {
  char line[64];
  struct stat about;
  if (argc != 3) return 64;
  int file = open(argv[2], O_RDONLY | O_CLOEXEC);
  if (file < 0 || fstat(file, &about)) return 1;
  char *bytes = malloc(about.st_size);
  for (off_t done = 0; done < about.st_size;) {
    ssize_t count = read(file, bytes + done, about.st_size - done);
    if (count <= 0) return 1;
    done += count;
  }
  while (fgets(line, sizeof line, stdin)) {
    double before = cpu(), least = 1e18;
    for (int left = atoi(line); left > 0; left--) {
      double began = now();
      if (push(argv[1], bytes, about.st_size) != 2) return 1;
      double took = now() - began;
      if (took < least) least = took;
    }
    printf("%.3f %.3f\n", cpu() - before, least);
    fflush(stdout);
  }
  return 0;
}
